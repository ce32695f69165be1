package bench

// Prepared is a Source of requests that were made beforehand. Each is sent once, and the answers
// are not looked at.
type Prepared [][]byte

// Request implements Source.
func (p Prepared) Request(b []byte, i int) []byte {
	if i >= len(p) {
		return b
	}
	return append(b, p[i]...)
}

// Answer implements Source.
func (Prepared) Answer(int, int, []byte) {}

// Repeated is a Source of one request that is sent again and again.
type Repeated []byte

// Request implements Source.
func (r Repeated) Request(b []byte, _ int) []byte { return append(b, r...) }

// Answer implements Source.
func (Repeated) Answer(int, int, []byte) {}
