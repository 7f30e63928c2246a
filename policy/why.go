package policy

import (
	"regexp"
	"strings"
	"sync"

	"github.com/acapcrawl/acapcrawl/acap"
)

// ownClause matches the reasons that this package gives why a file could not be read. All others are errors of
// the network.
var ownClause = sync.OnceValue(func() *regexp.Regexp {
	return regexp.MustCompile(`^(HTTP status \d+( without Location)?|the answer broke off after \d+ bytes|` +
		`more than \d+ redirects|it redirects .*|nothing is requested, .*|.* was never read|` +
		`it was not read for this crawler|robots\.txt (refers to more than \d+ files|does not permit it: .*|` +
		`is too complex to be judged)|no policy is known)$`)
})

// PublicWhy returns what every reader may know of why, the reason why a file could not be read. An error of the
// network may name machines of the operator, so PublicWhy returns only that there was no answer.
func PublicWhy(why string) string {
	for _, context := range []string{"robots.txt could not be read: ",
		"the permissions reference could not be followed: "} {
		if rest, ok := strings.CutPrefix(why, context); ok {
			return context + PublicWhy(rest)
		}
	}
	if why == "" || ownClause().MatchString(why) {
		return why
	}
	return "it could not be reached"
}

// PublicDecision returns d as every reader may know it.
func PublicDecision(d acap.Decision) acap.Decision {
	if d.Reason == acap.Unavailable {
		d.Note = PublicWhy(d.Note)
	}
	return d
}
