package main

import (
	"fmt"
	"math"
	"strings"

	"github.com/dustin/go-humanize"
)

// size is a flag's number of bytes, as people write it: 1GiB, 500MB, 0.
type size int64

// Set implements pflag.Value.
func (s *size) Set(text string) error {
	n, err := humanize.ParseBytes(text)
	if err != nil || n > math.MaxInt64 {
		return fmt.Errorf("not a size such as 1GiB, 500MB or 0")
	}
	*s = size(n)
	return nil
}

// String implements pflag.Value.
func (s *size) String() string {
	text := humanize.IBytes(uint64(*s))
	return strings.ReplaceAll(strings.ReplaceAll(text, ".0", ""), " ", "")
}

// Type implements pflag.Value.
func (s *size) Type() string { return "size" }
