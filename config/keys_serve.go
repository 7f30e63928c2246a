package config

import "time"

// serveKeys lists the settings for requests of publishers and for serve.
var serveKeys = []key{
	setting("actions.mode", ActionsDirect, "",
		func(c *Config) *string { return &c.Actions.Mode }, oneOf(ActionsDirect, ActionsConfirm), plain, `
When an action request is executed. direct: a line in robots.txt is enough, and so is a request through serve.
confirm: if the publisher of an origin has credentials, a line and a request through serve must ask for the same;
other origins stay direct.`),

	setting("actions.confirm_within", "168h", "write a duration as in 168h",
		func(c *Config) *time.Duration { return &c.Actions.ConfirmWithin }, duration(time.Minute), shown, `
With confirm: how long a request through serve waits for its line in robots.txt.`),

	setting("actions.seen_within", "1h", "write a duration from 5m to 24h, or 0s to leave that to crawls",
		func(c *Config) *time.Duration { return &c.Actions.SeenWithin }, seenWithin, shown, `
The longest time until watch, serve and a running crawl read the action requests in a changed robots.txt. This applies
to origins of which anything is stored. It is from 5m to 24h; with 0s robots.txt is only read when pages are visited.`),

	setting("actions.erase_within", "0s", "write a duration as in 10m, or 0s for at once",
		func(c *Config) *time.Duration { return &c.Actions.EraseWithin }, duration(0), shown, `
The longest time from a take-down to a compaction of archive and index, after which no byte of the page is left in any
file. The keys of the page are always destroyed at once. 0s starts the compaction at once.`),

	setting("actions.recrawl_again", "24h", "write a duration as in 24h",
		func(c *Config) *time.Duration { return &c.Actions.RecrawlAgain }, duration(time.Minute), shown, `
The time between two re-crawls of one resource. A re-crawl whose line is still in robots.txt is executed again after
this time, and one that is requested again earlier waits.`),

	setting("actions.max_pending", 1000, "write a number above 0",
		func(c *Config) *int { return &c.Actions.MaxPending }, integer(1), plain, `
The maximal number of pending re-crawls of one origin. More are refused until some are executed.`),

	setting("actions.max_pending_all", 100000, "write a number above 0",
		func(c *Config) *int { return &c.Actions.MaxPendingAll }, integer(1), plain, `
The maximal number of pending re-crawls of all origins together.`),

	setting("actions.max_a_day", 5000, "write a number above 0",
		func(c *Config) *int { return &c.Actions.MaxADay }, integer(1), plain, `
The maximal number of re-crawls of one origin within 24 hours. Take-downs are not limited.`),

	setting("actions.max_listed", 1000, "write a number above 0",
		func(c *Config) *int { return &c.Actions.MaxListed }, integer(1), plain, `
The maximal number of requests of one origin without effect that are listed one by one within 24 hours: those that are
refused, or for which nothing is stored. Further ones are only counted.`),

	setting("actions.sub_records", false, "write true or false",
		func(c *Config) *bool { return &c.Actions.SubRecords }, boolean, plain, `
Whether take-downs in a sub-record are executed, although ACAP does not allow them there.`),

	setting("actions.receipt_key", "", "name a file with an Ed25519 private key in PEM",
		func(c *Config) *string { return &c.Actions.ReceiptKey }, text, plain, `
A file with an Ed25519 private key (PEM, PKCS 8) that signs receipts and the head of the ledger. Use another key than
signature_key, which signs requests.`),

	setting("listen", "127.0.0.1:8080", "write an address with a port as in 127.0.0.1:8080",
		func(c *Config) *string { return &c.Listen }, address, plain, `
The address on which serve listens.`),

	setting("serve.public_hosts", []string{}, "as in archive.example.org",
		func(c *Config) *[]string { return &c.Serve.PublicHosts }, list(hostName), plain, `
The names that serve accepts in the Host header, in addition to the address on which it listens.`),

	setting("serve.replay_domain", "", "as in replay.example.net",
		func(c *Config) *string { return &c.Serve.ReplayDomain }, optional(domain), plain, `
A domain whose subdomains (*.replay.example.net) all resolve to serve. The certificate must be valid for them. Each copy
that must not be modified is then shown at a subdomain of its own, where addresses that begin with a slash lead to
archived copies. Choose a domain that is neither a parent nor a subdomain of a name in serve.public_hosts. This setting
cannot be used with serve.readers: login.`),

	setting("serve.admin_listen", "", "write an address with a port as in 127.0.0.1:8081",
		func(c *Config) *string { return &c.Serve.AdminListen }, optional(address), plain, `
The address on which serve answers /healthz, /readyz and /metrics, without TLS. If it is empty, they are not served.
Choose an address that only the operator can reach.`),

	setting("serve.certificate", "", "name a file with a certificate chain in PEM",
		func(c *Config) *string { return &c.Serve.Certificate }, text, plain, `
A file with the certificate of serve (PEM). It is required if serve listens beyond loopback, unless a proxy uses TLS.`),

	setting("serve.key", "", "name a file with the private key of serve.certificate in PEM",
		func(c *Config) *string { return &c.Serve.Key }, text, plain, `
A file with the private key of serve.certificate (PEM).`),

	setting("serve.trusted_proxies", []string{}, "write addresses or ranges as in 192.0.2.7,2001:db8::/48",
		func(c *Config) *[]string { return &c.Serve.TrustedProxies }, list(addressRange), plain, `
The addresses of proxies in front of serve that use TLS. Then serve may listen beyond loopback without a certificate.
The address of a reader is the last one in X-Forwarded-For that is not in this list.`),

	setting("serve.operator_password", "", "write the line that acapcrawl serve password prints",
		func(c *Config) *string { return &c.Serve.OperatorPassword }, optional(passwordHash), plain, `
A hash of the password with which the user operator logs in: the output of acapcrawl serve password, or a bcrypt hash.
If it is empty, the operator cannot log in.`),

	setting("serve.readers", ReadersEveryone, "write everyone or login",
		func(c *Config) *string { return &c.Serve.Readers }, oneOf(ReadersEveryone, ReadersLogin), plain, `
Who may read: everyone, or with login only the operator and publishers that have logged in.`),

	setting("serve.requests_per_second", 50, "write a number above 0",
		func(c *Config) *int { return &c.Serve.RequestsPerSecond }, integer(1), plain, `
The maximum number of requests a second that serve answers for one client, subresources of copies included. Further
requests get status 429.`),

	setting("serve.burst", 200, "write a number above 0",
		func(c *Config) *int { return &c.Serve.Burst }, integer(1), plain, `
The number of requests that one client may send at once before serve.requests_per_second limits it.`),

	setting("serve.client_connections", 64, "write a number above 0",
		func(c *Config) *int { return &c.Serve.ClientConnections }, integer(1), plain, `
The maximum number of connections of one client. Trusted proxies may have more.`),

	setting("serve.connections", 16384, "write a number above 0",
		func(c *Config) *int { return &c.Serve.Connections }, integer(1), plain, `
The maximum number of connections in total. A further connection replaces an idle one.`),
}

// The values of serve.readers.
const (
	ReadersEveryone = "everyone"
	ReadersLogin    = "login"
)

// The values of actions.mode.
const (
	ActionsDirect  = "direct"
	ActionsConfirm = "confirm"
)
