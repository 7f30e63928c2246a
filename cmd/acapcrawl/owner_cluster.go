package main

import (
	"context"
	"io"
	"net"
	"slices"
	"strings"

	"github.com/acapcrawl/acapcrawl/internal/present"
	"github.com/acapcrawl/acapcrawl/site"
)

// ownSettings are the settings that a host uses for verbs of guests from other machines. These guests cannot choose
// files of this machine.
type ownSettings struct {
	env      []string
	file     string // of the configuration; "": none
	resolver present.Resolver
}

// judgingNames lists the flags that say for which crawler, purposes and reader a verb decides.
const judgingNames = "crawler purpose preferences for as-of reader-ip reader-domain reader-country refresh json"

// clusterVerbs lists the verbs that a node runs for other machines of its cluster, and the flags that they may have. No
// flag names a file.
var clusterVerbs = map[string]string{
	"search":                 "limit skip why shard reader-facts details further public uses " + judgingNames,
	"show":                   "at version headers snippet query thumbnail original framed shard " + judgingNames,
	"explain":                "usage all strict dialect cannot shard " + judgingNames,
	"sweep":                  "dry-run " + judgingNames,
	"archive ls":             judgingNames,
	"archive stats":          "shard " + judgingNames,
	"archive verify":         "repair erased sample resume json",
	"archive erasures":       "json",
	"archive compact":        "json",
	"archive export":         "url plain shard " + judgingNames,
	"actions ls":             "origin action state url since standing after limit json",
	"actions show":           "receipt json",
	"actions verify":         "json",
	"actions credentials ls": "json",
	actionsRunName:           "origin no-refresh json",
	answerName:               "",
	listName:                 "",
}

// serveCluster runs the verbs of guests that connect to l from other machines, until close is called. The servers of
// the cluster decide who may connect.
func (h *host) serveCluster(l net.Listener, s *site.Site) {
	if h.cluster != nil {
		return
	}
	h.cluster = l
	slots := make(chan struct{}, maxGuests)
	h.guests.Go(func() { h.accept(l, slots, func(conn net.Conn) { h.runGuest(conn, s, h.remote) }) })
}

// remote checks the request of a guest on another machine, and returns the function that runs its verb, with the
// settings of this machine.
func (h *host) remote(req request) verbRunner {
	if req.Release {
		return nil
	}
	return func(ctx context.Context, s *site.Site, w *wire, in io.Reader) (status int) {
		if err := checkClusterVerb(req.Args); err != nil {
			return report(w.stderr(), err)
		}
		args := req.Args
		if h.own.file != "" {
			args = append([]string{"--config=" + h.own.file}, args...)
		}
		guest := Command{Stdin: in, Stdout: w.stdout(), Stderr: newProgress(w.stderr()),
			Bold: req.Bold, Env: h.own.env, Resolver: h.own.resolver, owner: s}
		return guest.Main(ctx, args)
	}
}

// checkClusterVerb returns an error if args are not a verb that a node runs for other machines: the words of the verb,
// flags in the form --name=value, and then, after two hyphens, its arguments.
func checkClusterVerb(args []string) error {
	n := slices.IndexFunc(args, func(arg string) bool { return strings.HasPrefix(arg, "-") })
	if n < 0 {
		n = len(args)
	}
	verb := strings.Join(args[:n], " ")
	flags, known := clusterVerbs[verb]
	if !known {
		return misuse("", "a node does not run %q for other machines", verb)
	}
	for _, arg := range args[n:] {
		if arg == "--" {
			return nil
		}
		name, _, valued := strings.Cut(arg, "=")
		if !valued || !slices.Contains(strings.Fields(flags), strings.TrimPrefix(name, "--")) {
			return misuse("", "a node does not run %s with %q for other machines", verb, arg)
		}
	}
	return nil
}
