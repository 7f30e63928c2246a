package gate

import (
	"fmt"
	"net/http"
	"net/url"
	"strings"

	"github.com/acapcrawl/acapcrawl/address"
)

// target checks method and scheme, and returns the URL as it will be asked for and sent (no user,
// no fragment; path and query untouched) with the host that it goes to.
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
	if u.Opaque != "" { // would be sent instead of the path that policy is asked about
		return refuse(RuleScheme, "it is not a hierarchical URL")
	}
	key, err := address.Endpoint(&u)
	if err != nil {
		return refuse(RuleScheme, err.Error())
	}
	if strings.HasPrefix(u.Port(), "0") { // 080 is 80, for the pause as well
		u.Host = key
	}
	u.User, u.Fragment, u.RawFragment = nil, "", ""
	return &u, key, nil
}
