package operator

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"strings"
	"time"
)

// Download is the body of a long answer, of any length.
type Download struct {
	body    io.ReadCloser
	from    string // base URL of the API
	silence *time.Timer
	longest time.Duration // longest time to wait for the next bytes
	end     context.CancelCauseFunc
	ctx     context.Context
	got     int64       // bytes received so far
	Each    func(int64) // called with got after each read; may be nil
}

var errSilent = errors.New("nothing more arrives")

// Download sends a GET and returns the answer's body, which must be of the media type kind. A
// body that breaks off, or of which nothing arrives for the time longest, is an error of its
// Read. The caller closes it.
func (o *Client) Download(ctx context.Context, path, kind string, longest time.Duration) (*Download, error) {
	ctx, end := context.WithCancelCause(ctx)
	d := &Download{from: o.Base, longest: longest, ctx: ctx, end: end}
	r, err := o.request(ctx, http.MethodGet, path, nil)
	if err != nil {
		end(nil)
		return nil, err
	}
	d.silence = time.AfterFunc(longest, func() { end(errSilent) })
	client := *o.caller()
	client.Timeout = 0 // the answer may be long
	answer, err := client.Do(r)
	if err != nil {
		err = o.unanswered(http.MethodGet, d.cause(err))
		d.silence.Stop()
		end(nil)
		return nil, err
	}
	d.body = answer.Body
	got, _, _ := strings.Cut(answer.Header.Get("Content-Type"), ";")
	if answer.StatusCode == http.StatusOK && got == kind {
		d.silence.Stop()
		return d, nil
	}
	if answer.StatusCode/100 != 2 {
		_, err = o.whole(http.MethodGet, answer)
	} else {
		err = fmt.Errorf("%s answers %d without %s: it is no operator API", o.Base, answer.StatusCode, kind)
	}
	return nil, errors.Join(err, d.Close())
}

// cause returns why a read failed.
func (d *Download) cause(err error) error {
	if cause := context.Cause(d.ctx); cause != nil {
		return cause
	}
	return err
}

// Read implements io.Reader. The time that the caller takes between two reads does not count
// as silence.
func (d *Download) Read(b []byte) (int, error) {
	d.silence.Reset(d.longest)
	n, err := d.body.Read(b)
	d.silence.Stop()
	if d.got += int64(n); d.Each != nil {
		d.Each(d.got)
	}
	if err != nil && !errors.Is(err, io.EOF) {
		err = fmt.Errorf("the answer of %s broke off after %d bytes: %w", d.from, d.got, d.cause(err))
	}
	return n, err
}

// Close implements io.Closer.
func (d *Download) Close() error {
	d.silence.Stop()
	d.end(nil)
	return d.body.Close()
}
