package gate

import (
	"fmt"
	"net/http"
	"net/url"
	"strings"

	"github.com/acapcrawl/acapcrawl/internal/address"
)

// target checks the method and the scheme. It returns the URL that is checked against the policy
// and sent, without user and fragment and with path and query unchanged, and its host key
// (host:port).
func target(req *http.Request) (*url.URL, string, error) {
	u := *req.URL
	refuse := func(rule, why string) (*url.URL, string, error) {
		return nil, "", &Refusal{URL: req.URL.Redacted(), Rule: rule, Why: why}
	}
	if m := req.Method; m != "" && m != http.MethodGet && m != http.MethodHead {
		return refuse(RuleMethod, "only GET and HEAD are sent, not "+m)
	}
	u.Scheme = strings.ToLower(u.Scheme)
	if u.Scheme != "http" && u.Scheme != "https" {
		return refuse(RuleScheme, fmt.Sprintf("only http and https are fetched, not %q", u.Scheme))
	}
	if u.Opaque != "" { // net/http would send u.Opaque instead of the path that the policy permits
		return refuse(RuleScheme, "it is not a hierarchical URL")
	}
	key, err := address.Endpoint(&u)
	if err != nil {
		return refuse(RuleScheme, err.Error())
	}
	if strings.HasPrefix(u.Port(), "0") { // port 080 is the same as port 80, so both must share one pause
		u.Host = key
	}
	u.User, u.Fragment, u.RawFragment = nil, "", ""
	return &u, key, nil
}
