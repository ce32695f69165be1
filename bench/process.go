package bench

import (
	"bufio"
	"fmt"
	"io"
	"os"
	"os/exec"
	"strings"
	"syscall"
	"time"
)

// roleVariable is the environment variable that makes a program call Play.
const roleVariable = "PIXBENCH_ROLE"

// Process is a server in a process of its own, so that its processor time and its memory are not
// the generator's. It is this program again, in one of the roles of Play.
type Process struct {
	Addr    string // address of its listener for loads
	Control string // address of its operator API, or of what else it is asked at; "-": none

	cmd   *exec.Cmd
	stdin io.Closer
	ended chan struct{} // closed when the process has ended
	err   error         // how it ended; may be read only after ended was closed
}

// endTime is how long a process may take to end after it was asked to.
const endTime = 30 * time.Second

// StartProcess starts this program in a role and waits until it listens. The program must call
// Play where Playing says so. extra are additional environment variables, as NAME=value.
func StartProcess(role string, extra []string, args ...string) (*Process, error) {
	self, err := os.Executable()
	if err != nil {
		return nil, fmt.Errorf("%s: %w", role, err)
	}
	p := &Process{cmd: exec.Command(self, args...), ended: make(chan struct{})}
	p.cmd.Env = append(append(os.Environ(), roleVariable+"="+role), extra...)
	p.cmd.Stderr = os.Stderr
	p.cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true} // a terminal's Ctrl-C is for this process alone
	if p.stdin, err = p.cmd.StdinPipe(); err != nil {
		return nil, fmt.Errorf("%s: %w", role, err)
	}
	out, err := p.cmd.StdoutPipe()
	if err != nil {
		return nil, fmt.Errorf("%s: %w", role, err)
	}
	if err := p.cmd.Start(); err != nil {
		return nil, fmt.Errorf("%s: %w", role, err)
	}
	line, err := bufio.NewReader(out).ReadString('\n')
	if _, scanned := fmt.Sscan(line, &p.Addr, &p.Control); err != nil || scanned != nil {
		_ = p.stdin.Close()
		_ = p.cmd.Wait()
		return nil, fmt.Errorf("the %s ended before it listened%s", role, strings.TrimSuffix(": "+strings.TrimSpace(line), ": "))
	}
	go func() {
		p.err = p.cmd.Wait()
		close(p.ended)
	}()
	return p, nil
}

// Kill ends the process as a crash would.
func (p *Process) Kill() {
	_ = p.cmd.Process.Kill()
	<-p.ended
}

// Close asks the process to end, and waits. An error says how it ended otherwise.
func (p *Process) Close() error {
	_ = p.stdin.Close()
	select {
	case <-p.ended:
		return p.err
	case <-time.After(endTime):
		p.Kill()
		return fmt.Errorf("process %d did not end within %v", p.cmd.Process.Pid, endTime)
	}
}
