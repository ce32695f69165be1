package provider

import (
	"bytes"
	"errors"
	"fmt"
	"strconv"
)

// The paths of groups, and of the question whether the other side takes groups: of a provider,
// and of an engine.
const (
	PathCapabilities = "/v1/capabilities"
	PathGroup        = "/v1/groups"

	PathNoticeCapabilities = "/scheme/v1/capabilities"
	PathNoticeGroup        = "/scheme/v1/groups"
)

// The bounds of a group.
const (
	MaxGroup      = 256       // messages
	MaxGroupBytes = 256 << 10 // bytes of the request's body
)

// GroupType is the media type of a group, and of its answer.
const GroupType = "text/plain; charset=utf-8"

// Capabilities answers the question what a side can do besides taking single messages.
type Capabilities struct {
	Groups int `json:"groups"` // the most messages of a group; 0: it takes no groups
}

// Part is one message of a group: the message that a request of its own to Path would be, with
// its own message id.
type Part struct {
	ID   string
	Path string
	Body []byte
}

// size returns the length of the part's line in bytes.
func (p *Part) size() int { return len(p.ID) + len(p.Path) + len(p.Body) + 3 }

// appendTo writes the part's line. The body has no line feed, because it is JSON as encode
// writes it.
func (p *Part) appendTo(b []byte) []byte {
	b = append(append(b, p.ID...), ' ')
	b = append(append(b, p.Path...), ' ')
	return append(append(b, p.Body...), '\n')
}

var errGroup = fmt.Errorf("a group has 1 to %d lines, each of a message id that is not repeated, a path and a body of at most %d bytes",
	MaxGroup, MaxBody)

// ReadGroup reads the body of a group, of which the parts keep their bodies. It judges the form of
// the lines alone.
func ReadGroup(body []byte) ([]Part, error) {
	var parts []Part
	seen := map[string]bool{}
	for len(body) > 0 {
		line, rest, ended := bytes.Cut(body, []byte("\n"))
		fields := bytes.SplitN(line, []byte(" "), 3)
		if !ended || len(fields) != 3 || len(parts) == MaxGroup {
			return nil, errGroup
		}
		p := Part{string(fields[0]), string(fields[1]), fields[2]}
		if !messageID(p.ID) || seen[p.ID] || len(p.Body) > MaxBody {
			return nil, errGroup
		}
		seen[p.ID] = true
		parts, body = append(parts, p), rest
	}
	if parts == nil {
		return nil, errGroup
	}
	return parts, nil
}

// AnswerPart appends the line that answers a part: its id, the status, the answer's time and
// signature, and the body, which is JSON without a line feed. The signature is that of the answer
// to the part as a message of its own.
func (g *Guard) AnswerPart(b []byte, p *Part, status int, body []byte) []byte {
	at, signature := g.Answer(p.request(), status, body)
	b = append(append(b, p.ID...), ' ')
	b = append(strconv.AppendInt(b, int64(status), 10), ' ')
	b = append(append(b, at...), ' ')
	b = append(append(b, signature...), ' ')
	return append(append(b, body...), '\n')
}

func (p *Part) request() Message { return Message{Method: "POST", Path: p.Path, ID: p.ID} }

// maxAnswerLine is the greatest length in bytes of a line that answers a part.
const maxAnswerLine = MaxBody + 256

// partAnswer is the line that answers a part, before its signature is checked.
type partAnswer struct {
	id, at, signature string
	status            int
	body              []byte
}

var errAnswerLine = errors.New("a line of the answer is not an id, a status, a time, a signature and a body")

func readAnswerLine(line []byte) (a partAnswer, err error) {
	fields := bytes.SplitN(line, []byte(" "), 5)
	if len(fields) != 5 {
		return a, errAnswerLine
	}
	status, err := strconv.Atoi(string(fields[1]))
	if err != nil || len(fields[1]) != 3 || status < 100 {
		return a, errAnswerLine
	}
	return partAnswer{id: string(fields[0]), status: status, at: string(fields[2]), signature: string(fields[3]), body: fields[4]}, nil
}
