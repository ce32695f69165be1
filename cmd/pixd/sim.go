package main

import (
	"context"
	"fmt"
	"net/http"
	"os"

	"github.com/spf13/cobra"

	"pixd/actors/pix"
	"pixd/cmd/engine"
	"pixd/cmd/operator"
	"pixd/cmd/simulator"
)

// simFlags are the flags of sim, as given.
type simFlags struct {
	simulator.Config
	logFlags
}

func simCommand() *cobra.Command {
	f := simFlags{Config: simulator.Defaults()}
	c := &cobra.Command{
		Use:   "sim",
		Short: "Run the scheme simulator alone, or make it do something",
		Long: "Runs the scheme's simulator until SIGTERM or SIGINT, with a book of its own, so that a crash of the\n" +
			"engine never takes it along. The engine finds it by `pixd serve --scheme http://127.0.0.1:8090`; both\n" +
			"need the same PIXD_SCHEME_SECRET, of at least 32 bytes. /sim asks for the token in PIXD_ADMIN_TOKEN, of\n" +
			"at least 16 characters. SIGHUP reads the certificate again.",
		Example: "  pixd sim --engine http://127.0.0.1:8081",
		Args:    cobra.NoArgs,
		RunE: func(c *cobra.Command, _ []string) error {
			if err := f.understand(); err != nil {
				return err
			}
			return f.run(c.Context())
		},
	}
	flags := c.Flags()
	flags.StringVar(&f.DataDir, "data-dir", f.DataDir, "`FOLDER` of the simulator's book; made for its owner alone")
	flags.StringVar(&f.Listen, "listen", f.Listen, "`ADDRESS` and port for engines, /sim and /metrics; beyond loopback only with TLS")
	flags.StringVar(&f.TLS.Cert, "tls-cert", "", "`FILE` with a certificate chain in PEM: the listener speaks TLS, and /metrics asks for the token; read again on SIGHUP")
	flags.StringVar(&f.TLS.Key, "tls-key", "", "`FILE` with the private key of --tls-cert, in PEM")
	flags.DurationVar(&f.SettleDelay, "settle-delay", f.SettleDelay, "`duration` from submission to settlement; 0 settles inside the call")
	flags.StringVar(&f.Engine, "engine", f.Engine, "where notices go: the engine's operator API or its --scheme-listen, as a `URL,…`; of several nodes the URLs of all, of which one is tried after the other")
	flags.StringVar(&f.EngineCA, "engine-ca", "", "`FILE` with the CA, or the certificate itself, in PEM, that an https --engine is trusted by (default the system's authorities); read at the start")
	flags.StringVar(&f.ISPB, "ispb", f.ISPB, "the engine's own `ISPB`, as its --ispb, 8 digits or capital letters: under it the book has its part")
	f.logFlags.add(flags)
	c.AddCommand(simPayCommand(), simReturn.alone(simAsked()), simInfractionCommand(), simCapacityCommand(), simBookCommand())
	return c
}

// understand checks the flags before anything is written.
func (f *simFlags) understand() (err error) {
	if f.Log, err = f.logger(); err != nil {
		return err
	}
	f.AdminToken, f.SchemeSecret = os.Getenv(adminToken), os.Getenv(schemeSecret)
	if !loopback(f.Listen) && f.TLS.Cert == "" {
		return fmt.Errorf("--listen %s: without --tls-cert and --tls-key the simulator takes loopback addresses only", f.Listen)
	}
	return f.Check()
}

// run serves until a signal ends the process or the listener fails.
func (f *simFlags) run(parent context.Context) error {
	defer f.out.flush(lastLines)
	signals := notified()
	f.OnFailure = failStop
	v, commit := build()
	ctx, over := signals.during(parent)
	defer over()
	f.Starting = ctx
	s, err := simulator.Serve(f.Config, engine.Build{Version: v, Commit: commit})
	if err != nil {
		return signals.ended(err, f.Log)
	}
	over()
	f.Log.Info("ready", "simulator", s.Addr.String(), "engine", f.Engine, "data", f.DataDir, "version", v)
	return signals.attend(s, f.Log)
}

const simHelp = "\n\nIt asks a running simulator, at --sim (an engine with the simulator in it has the same at its operator\n" +
	"API), with the token from --token-file, else from PIXD_ADMIN_TOKEN, else from ./pixd-data/admin.token,\n" +
	"else from " + operator.InstalledToken + ". --json prints the API's answer. Exit status 1, with one line that says why, where it\n" +
	"cannot be done."

// simAsked returns the flags of a command that calls a simulator.
func simAsked() *adminFlags {
	return &adminFlags{operator.Flags{URL: "http://" + simulator.Defaults().Listen, Flag: "sim", Asks: "simulator"}}
}

func simPayCommand() *cobra.Command {
	c := request{
		use:   "pay --qr-code TEXT | --pix-key KEY --amount N",
		short: "Make a customer pay a charge or a PIX key",
		long: "Makes a customer pay a charge by its QR code's text, or a PIX key, and shows the payment. It answers\n" +
			"once the engine took it, or after 2 s: the payment then goes on. Amounts are base units (1.00 BRL =\n" +
			"10000). A repeated --end-to-end-id shows the first payment and pays nothing.",
		example: "  pixd sim pay --pix-key ana@example.com --amount 250000",
		method:  http.MethodPost, path: "/sim/payments", print: printPaid,
		fields: []field{
			{flag: "qr-code", member: "qr_code", kind: "", help: "the `TEXT` of a charge's QR code"},
			{flag: "pix-key", member: "pix_key", kind: "", help: "the `KEY` to pay, instead of a QR code"},
			{flag: "amount", member: "amount", kind: int64(0), help: "`N` base units (default what the QR code says)"},
			{flag: "txid", member: "txid", kind: "", help: "the charge's `TXID`, with --pix-key"},
			{flag: "paid-at", member: "paid_at", kind: "", help: "the scheme's own date of it, in the past, as an ISO 8601 `TIME`"},
			{flag: "end-to-end-id", member: "end_to_end_id", kind: "", help: "the payment's end-to-end `ID` (default a fresh one)"},
			{flag: "payer-name", member: "payer.name", kind: "", help: "the `NAME` of who pays"},
			{flag: "payer-document", member: "payer.document", kind: "", help: "the payer's `CPF|CNPJ`"},
			{flag: "payer-ispb", member: "payer.ispb", kind: "", help: "the `ISPB` of the payer's institution: 8 digits or capital letters"},
		},
	}.alone(simAsked())
	c.MarkFlagsOneRequired("qr-code", "pix-key")
	c.MarkFlagsMutuallyExclusive("qr-code", "pix-key")
	return c
}

// paid is the API's answer to a customer's payment.
type paid struct {
	EndToEnd string `json:"end_to_end_id"`
	Amount   pix.Amount
}

var printPaid = printing("something else", func(p *paid) string {
	return facts([]fact{{"end-to-end id", p.EndToEnd}, {"amount", money(p.Amount)}})
})
