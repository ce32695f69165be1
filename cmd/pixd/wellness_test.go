package main

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// TestClusterStatusExits checks with which status pixd cluster status ends, by which monitors tell that a node needs somebody.
func TestClusterStatusExits(t *testing.T) {
	t.Parallel()
	const head, node = `{"cluster_id":"c","node":"a","log":{"position":1,"bytes":1,"most_bytes":2},"nodes":[`,
		`,"applied":1,"lag_batches":0,"valid_for_ms":1,"version":"1","url":"http://127.0.0.1:1"`
	for answer, want := range map[string]string{
		head + `{"node":"a","role":"owner","lag_seconds":0,"error":null` + node + `},{"node":"b","role":"standby","lag_seconds":9.9,"error":null` + node + `}],"owner":"a"}`: "",
		head + `{"node":"10.0.0.4:8090","role":"joining","lag_seconds":0,"error":null` + node + `}],"owner":"a"}`:                                                            "",
		head + `{"node":"a","role":"standby","lag_seconds":0,"error":null` + node + `}],"owner":null}`:                                                                       "no node is the owner",
		head + `{"node":"b","role":"gone","lag_seconds":0,"error":null` + node + `}],"owner":"a"}`:                                                                           "node b is gone",
		head + `{"node":"b","role":"standby","lag_seconds":0,"error":"out of place"` + node + `}],"owner":"a"}`:                                                              "node b follows no more: out of place",
		head + `{"node":"b","role":"standby","lag_seconds":10.1,"error":null` + node + `}],"owner":"a"}`:                                                                     "node b is behind by 10 s",
	} {
		s := answering(t, 200, answer)
		code, out, errs := asks(t, s.URL, "cluster", "status")
		if (code == 0) != (want == "") || want != "" && errs != "pixd: "+want+"\n" || !strings.Contains(out, "NODE") {
			t.Errorf("%s: exit %d\n%s%s", answer, code, out, errs)
		}
	}
}

// TestSignWithEmptySecret checks that nothing is signed under an empty secret.
func TestSignWithEmptySecret(t *testing.T) {
	t.Parallel()
	file := filepath.Join(t.TempDir(), "secret")
	if err := os.WriteFile(file, []byte(" \n"), 0o600); err != nil {
		t.Fatal(err)
	}
	if code, out, errs := run(t, nil, "sign", "--secret-file", file); code != 1 || out != "" || errs != "pixd: secret file: "+file+" is empty\n" {
		t.Errorf("exit %d\n%s%s", code, out, errs)
	}
}
