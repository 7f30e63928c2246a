package policy_test

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"net/url"

	"github.com/acapcrawl/acapcrawl/acap"
	"github.com/acapcrawl/acapcrawl/policy"
)

// files answers requests for policy files from memory. A crawler makes them through its gate.
type files map[string]string

func (f files) Fetch(_ context.Context, rawurl string, _ http.Header) (policy.Response, error) {
	text, found := f[rawurl]
	switch {
	case rawurl == "http://down.example/robots.txt":
		return policy.Response{}, errors.New("no answer")
	case !found:
		return policy.Response{URL: rawurl, Status: 404}, nil
	}
	return policy.Response{URL: rawurl, Status: 200, Body: []byte(text)}, nil
}

// An Authority reads robots.txt and the files that it refers to, once while they are fresh, and answers what is in
// force. What cannot be read permits nothing.
func Example() {
	web := files{"http://paper.example/robots.txt": "ACAP-crawler: *\nACAP-permissions-reference: /acap.txt\n",
		"http://paper.example/acap.txt": "ACAP-crawler: *\nACAP-disallow-index: /archive/\n"}
	authority := policy.New(web, acap.Crawler{Names: []string{"examplebot"}}, policy.NewMemory(), policy.Options{})
	defer authority.Close()

	for _, address := range []string{"http://paper.example/archive/1974.html", "http://open.example/",
		"http://down.example/"} {
		u, err := url.Parse(address)
		if err != nil {
			fmt.Println(err)
			return
		}
		origin, err := authority.Origin(context.Background(), u)
		if err != nil {
			fmt.Println(err)
			return
		}
		d := origin.Policy.Decide(acap.Index, acap.NewResource(u))
		fmt.Println(origin.Status, d.Allowed, d.Why())
	}
	// Output:
	// read false prohibited by http://paper.example/acap.txt:2: ACAP-disallow-index: /archive/
	// none true nothing is said about it
	// unreachable false its policy could not be read (robots.txt could not be read: no answer)
}

// A crawler may also read the vocabularies that came after ACAP. The strictest statement decides.
func ExampleVocabularies() {
	web := files{"http://paper.example/robots.txt": "User-agent: *\nAllow: /\nContent-Usage: train-ai=n\n"}
	vocabularies, err := policy.Vocabularies()
	if err != nil {
		fmt.Println(err)
		return
	}
	who := acap.Crawler{Names: []string{"examplebot"}, Vocabularies: vocabularies}
	authority := policy.New(web, who, policy.NewMemory(), policy.Options{})
	defer authority.Close()
	u := &url.URL{Scheme: "http", Host: "paper.example", Path: "/"}
	origin, err := authority.Origin(context.Background(), u)
	if err != nil {
		fmt.Println(err)
		return
	}
	fmt.Println(origin.Policy.Decide(acap.TrainAI, acap.NewResource(u)).Why())
	// Output: prohibited by http://paper.example/robots.txt:3: Content-Usage: train-ai=n
}
