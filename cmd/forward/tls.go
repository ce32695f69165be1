package forward

import (
	"crypto/tls"
	"errors"

	"pixd/cmd/certificate"
)

// TLS reads the certificate with which this node shows itself to the other nodes, in both
// directions, and the certificates of those who sign nodes' certificates. It returns the
// configurations of the listener for other nodes and of connections to them: TLS 1.3, and each
// side refuses another whose certificate is not signed so. A node's certificate must be good for a
// server and a client, and name the host of the node's URL.
//
// own can be read again while it is in use (certificate.Reload); new connections have the new
// certificate. All are nil if no file is named.
func TLS(cert, key, ca string) (own *certificate.Certificate, server, client *tls.Config, err error) {
	files := certificate.Files{Cert: cert, Key: key}
	if files == (certificate.Files{}) && ca == "" {
		return nil, nil, nil, nil
	}
	if err := files.Check("cluster"); err != nil {
		return nil, nil, nil, err
	}
	if cert == "" || ca == "" {
		return nil, nil, nil, errors.New("--cluster-cert, --cluster-key and --cluster-ca go together: one of them is missing")
	}
	if own, err = certificate.Read("cluster", files); err != nil {
		return nil, nil, nil, err
	}
	if client, err = certificate.Trusting("cluster-ca", ca); err != nil {
		return nil, nil, nil, err
	}
	server = own.Config()
	server.MinVersion, client.MinVersion = tls.VersionTLS13, tls.VersionTLS13
	server.ClientAuth, server.ClientCAs = tls.RequireAndVerifyClientCert, client.RootCAs
	server.SessionTicketsDisabled = true // each connection shows its certificate anew
	client.GetClientCertificate = func(*tls.CertificateRequestInfo) (*tls.Certificate, error) {
		return server.GetCertificate(nil)
	}
	return own, server, client, nil
}
