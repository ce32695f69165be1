package main

import (
	"bytes"
	"crypto/tls"
	"crypto/x509"
	"fmt"
	"net"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"pixd/wal/waltest"
)

// A proxy is a program of others that stands before the merchant API, with its example.
type proxy struct {
	name    string
	example string
	// edit are the places of the example that a test changes: what is there, and what comes there,
	// with the address for clients, that of the engine, and the files of the certificate.
	edit [][2]string
	args func(config, dir string) []string
}

var proxies = []proxy{
	{
		name: "nginx", example: "nginx/pixd.conf",
		edit: [][2]string{
			{"listen 443 ssl", "listen FRONT ssl"},
			{"127.0.0.1:8080", "ENGINE"},
			{"/etc/nginx/tls/cert.pem", "CERT"},
			{"/etc/nginx/tls/key.pem", "KEY"},
		},
		args: func(config, dir string) []string {
			return []string{"-p", dir, "-e", "stderr", "-g", fmt.Sprintf("daemon off; pid %s/pid; error_log stderr;", dir), "-c", wrapped(config, dir)}
		},
	},
	{
		name: "caddy", example: "caddy/Caddyfile",
		edit: [][2]string{
			{"\napi.example.com {", "\n{\n\tadmin off\n\tauto_https off\n}\nhttps://FRONT {\n\ttls CERT KEY"}, {"127.0.0.1:8080", "ENGINE"},
		},
		args: func(config, _ string) []string { return []string{"run", "--adapter", "caddyfile", "--config", config} },
	},
}

// wrapped writes the file around an nginx example that the system's nginx.conf is elsewhere.
func wrapped(config, dir string) string {
	whole := filepath.Join(dir, "nginx.conf")
	temp := ""
	for _, what := range []string{"client_body", "proxy", "fastcgi", "uwsgi", "scgi"} {
		temp += fmt.Sprintf("%s_temp_path %s/%s;\n", what, dir, what)
	}
	text := fmt.Sprintf("events {}\nhttp {\naccess_log off;\n%sinclude %s;\n}\n", temp, config)
	if err := os.WriteFile(whole, []byte(text), 0o600); err != nil {
		panic(err)
	}
	return whole
}

// TestBehindProxies sends signed requests through the proxies of the examples: the engine sees
// the client's address, and not the one that the client claims to have.
func TestBehindProxies(t *testing.T) {
	t.Parallel()
	p := start(t, filepath.Join(t.TempDir(), "data"), "--trusted-proxy", "127.0.0.1/32")
	s := p.shop()
	var key struct {
		ID     string `json:"client_id"`
		Secret string `json:"client_secret"`
	}
	p.made("/admin/accounts/"+s.ID+"/api-keys", `{"permissions":["*"],"ip_whitelist":["127.0.0.2"]}`, &key)
	s.Client, s.Secret = key.ID, key.Secret
	for _, x := range proxies {
		t.Run(x.name, func(t *testing.T) {
			front, pool := x.run(t, host(p.merchant))
			behind(t, front, pool, s)
		})
	}
}

// run starts a proxy, and returns its URL and what trusts its certificate.
func (x *proxy) run(t *testing.T, engine string) (string, *x509.CertPool) {
	t.Helper()
	program := installed(t, x.name)
	dir := t.TempDir()
	cert, private, pool := certify(t, dir, 7)
	front := waltest.FreePorts(t, 1, 1)[0]
	text, err := os.ReadFile(filepath.Join("..", "..", "examples", filepath.FromSlash(x.example)))
	if err != nil {
		t.Fatal(err)
	}
	config := string(text)
	for _, e := range x.edit {
		if !strings.Contains(config, e[0]) {
			t.Fatalf("%s has no %q", x.example, e[0])
		}
		config = strings.ReplaceAll(config, e[0], strings.NewReplacer("FRONT", front, "ENGINE", engine, "CERT", cert, "KEY", private).Replace(e[1]))
	}
	file := filepath.Join(dir, "config")
	if err := os.WriteFile(file, []byte(config), 0o600); err != nil {
		t.Fatal(err)
	}
	var said bytes.Buffer
	c := exec.CommandContext(t.Context(), program, x.args(file, dir)...)
	c.Env = append(os.Environ(), "HOME="+dir, "XDG_DATA_HOME="+dir, "XDG_CONFIG_HOME="+dir)
	c.Stdout, c.Stderr = &said, &said
	c.Cancel = func() error { return c.Process.Signal(os.Interrupt) }
	if err := c.Start(); err != nil {
		t.Fatal(err)
	}
	ended := make(chan error, 1)
	go func() { ended <- c.Wait() }()
	for range 500 {
		if l, err := net.Dial("tcp", front); err == nil {
			_ = l.Close()
			t.Cleanup(func() { t.Log(c.Process.Signal(os.Interrupt), <-ended) })
			return "https://" + front, pool
		}
		select {
		case err := <-ended:
			t.Fatalf("%s: %v\n%s", x.name, err, said.String())
		case <-time.After(10 * time.Millisecond):
		}
	}
	t.Fatalf("%s does not listen", x.name)
	return "", nil
}

// from returns a client with a source address.
func from(address string, pool *x509.CertPool) *http.Client {
	d := &net.Dialer{LocalAddr: &net.TCPAddr{IP: net.ParseIP(address)}}
	return &http.Client{Timeout: 10 * time.Second, Transport: &http.Transport{
		DialContext: d.DialContext, ForceAttemptHTTP2: true,
		TLSClientConfig: &tls.Config{RootCAs: pool},
	}}
}

// behind checks what the engine sees of requests through a proxy. The API key of the shop works
// from 127.0.0.2 alone.
func behind(t *testing.T, front string, pool *x509.CertPool, s shop) {
	t.Helper()
	large := `{"amount":100,"pix_key":"settle-now@pix.test","note":"` + strings.Repeat("n", 200<<10) + `"}`
	for _, c := range []struct {
		name, from, claims, body string
		want                     int
	}{
		{"the client", "127.0.0.2", "", `{"amount":100,"pix_key":"settle-now+1@pix.test"}`, 200},
		{"a client that claims another address", "127.0.0.2", "127.0.0.3", `{"amount":100,"pix_key":"settle-now+2@pix.test"}`, 200},
		{"another client", "127.0.0.3", "", `{"amount":100,"pix_key":"settle-now+3@pix.test"}`, 403},
		{"another client that claims to be the client", "127.0.0.3", "127.0.0.2", `{"amount":100,"pix_key":"settle-now+4@pix.test"}`, 403},
		{"one that claims to come by the proxy", "127.0.0.3", "127.0.0.2, 127.0.0.1", `{"amount":100,"pix_key":"settle-now+5@pix.test"}`, 403},
		{"a large body", "127.0.0.2", "", large, 200},
	} {
		r, err := s.request(front, "/pix/cash-out", c.body, c.name)
		if err != nil {
			t.Fatal(err)
		}
		r.Header.Set("X-Key-Case", "camelCase")
		if c.claims != "" {
			r.Header.Set("X-Forwarded-For", c.claims)
		}
		client := from(c.from, pool)
		status, got, err := do(client, r)
		if err != nil || status != c.want {
			t.Errorf("%s: %d %.300s (%v), want %d", c.name, status, got, err, c.want)
		}
		if c.want == 200 && !bytes.Contains(got, []byte(`"endToEndId"`)) {
			t.Errorf("%s: X-Key-Case did not arrive: %.300s", c.name, got)
		}
	}
	r, err := http.NewRequest(http.MethodGet, front+"/admin/accounts", nil)
	if err != nil {
		t.Fatal(err)
	}
	if status, got, err := do(from("127.0.0.2", pool), r); err != nil || status != http.StatusNotFound {
		t.Errorf("the operator API is at the proxy: %d %.200s (%v)", status, got, err)
	}
}
