package explain

import (
	"context"
	"errors"
	"net/http"
	"net/url"

	"github.com/acapcrawl/acapcrawl/policy"
)

// Pasted answers q by robots, the text of a robots.txt of the origin of q.URL. It requests nothing:
// files to which the text refers cannot be read, and what such a file would permit is prohibited (P1
// 2.3.2: a reference that cannot be resolved prohibits everything).
func Pasted(ctx context.Context, q Question, robots []byte) (*Explanation, error) {
	files, err := NewRobotsFile(q.URL, robots)
	if err != nil {
		return nil, err
	}
	policies := policy.New(files, q.Crawler, policy.NewMemory(), policy.Options{})
	defer policies.Close()
	return Of(ctx, q, Sources{Origins: policies})
}

// robotsFile is a policy.Fetcher that returns a given text as robots.txt of one origin. It makes no
// request. Other files do not exist for it.
type robotsFile struct {
	url  string
	body []byte
}

// NewRobotsFile returns a fetcher that has a text as robots.txt of the origin of u. Other files cannot
// be read with it. It makes no request.
func NewRobotsFile(u *url.URL, body []byte) (policy.Fetcher, error) {
	key, err := policy.Key(u)
	return robotsFile{key + "/robots.txt", body}, err
}

// Fetch returns the text if rawurl is the address of robots.txt.
func (f robotsFile) Fetch(_ context.Context, rawurl string, _ http.Header) (policy.Response, error) {
	if rawurl != f.url {
		return policy.Response{}, errors.New("nothing is requested, because the text of robots.txt was given")
	}
	return policy.Response{URL: rawurl, Status: http.StatusOK, Body: f.body}, nil
}
