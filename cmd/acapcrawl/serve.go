package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net"
	"net/http"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/spf13/cobra"

	"github.com/acapcrawl/acapcrawl/actions"
	"github.com/acapcrawl/acapcrawl/config"
	"github.com/acapcrawl/acapcrawl/internal/web"
)

func (c *Command) serveVerb() *cobra.Command {
	cmd := &cobra.Command{
		Use:   "serve [VERB]",
		Short: "Show the archive in browsers, and execute publishers' requests",
		Long: `Answer HTTP: pages for readers (search, versions, copies, policies), an API, and publishers' requests
(POST /api/v1/requests with a token from actions credentials add), which serve executes. It also watches the
robots.txt of all archived sites like acapcrawl watch. /healthz, /readyz and /metrics are served
only at serve.admin_listen. Crawls and all other verbs can run at the same time.

With --cluster, serve answers readers from all nodes of the cluster, and passes publishers' requests on to
them. If the data directory is that of a node, serve answers for it too as long as that node does not crawl, so
that its pages stay searchable.`,
		Example: `  acapcrawl serve
  acapcrawl serve --listen 127.0.0.1:8080
  ACAPCRAWL_SERVE_ADMIN_LISTEN=127.0.0.1:8081 acapcrawl serve
  acapcrawl serve --cluster nats://n1:4222,nats://n2:4222,nats://n3:4222`,
		Args: noArgs,
	}
	flags := cmd.Flags()
	flags.SortFlags = false
	setting(flags, "listen")
	visiting(flags)
	clusterFlags(cmd)
	cmd.AddCommand(c.servePasswordVerb())
	cmd.RunE = func(cmd *cobra.Command, _ []string) error {
		cfg, err := c.settings(cmd)
		if err != nil {
			return err
		}
		ready := func(at string) { fmt.Fprintf(c.Stderr, "Answering at %s; press Ctrl-C to stop.\n", at) }
		if c.asksNodes(cfg) {
			return c.runServeNodes(cmd.Context(), cfg, cmd.Flags().Changed("data"), ready)
		}
		flags := slices.DeleteFunc(given(cmd), func(f string) bool { return strings.HasPrefix(f, "--listen=") })
		return c.runServe(cmd.Context(), cfg, flags, ready)
	}
	return cmd
}

// runServe answers publishers and executes their requests until ctx ends. It opens the data
// directory only while it answers a call or executes requests, so that other verbs can use the
// directory in between. It calls ready with its address when it answers.
func (c *Command) runServe(ctx context.Context, cfg *config.Config, flags []string, ready func(at string)) error {
	l, options, err := c.serverOptions(ctx, cfg)
	if err != nil {
		return err
	}
	channel, err := c.addPublishers(ctx, cfg, &options)
	if err != nil {
		return errors.Join(err, l.Close())
	}
	views, err := newReaders(c, cfg, options.Failed)
	if err != nil {
		return errors.Join(err, l.Close())
	}
	options.Readers, options.Ready = views, views.ready
	var s *web.Server
	c.measure(&options, cfg, func() (actions.Status, bool) { return s.Status(ctx) })
	s = web.New(options)
	admin, err := c.adminListener(ctx, cfg)
	if err != nil {
		return errors.Join(err, l.Close())
	}
	ready(addressOf(l, options))
	ctx, stop := context.WithCancel(ctx)
	defer stop()
	reading, stopReading := context.WithCancel(context.WithoutCancel(ctx))
	defer stopReading()
	var watched error
	var watch sync.WaitGroup
	shut := startServer(s, l, admin, stop)
	watch.Go(func() { views.run(reading) })
	watch.Go(func() {
		if watched = c.runWatch(ctx, cfg, watchRequest{Flags: flags, Wake: channel.wake}); watched != nil {
			stop()
		}
	})
	<-ctx.Done()
	err = shut()
	channel.close()
	stopReading()
	watch.Wait()
	return errors.Join(err, watched)
}

// startServer answers at l, and the operator at admin unless it is nil. It calls stop if that fails. shut ends both; it
// waits until unfinished requests are answered, at most for shutdownTime.
func startServer(s *web.Server, l, admin net.Listener, stop func()) (shut func() error) {
	var serving sync.WaitGroup
	var served, adminServed error
	serving.Go(func() {
		served = s.Serve(l)
		stop()
	})
	if admin != nil {
		serving.Go(func() {
			adminServed = s.ServeAdmin(admin)
			stop()
		})
	}
	return func() error {
		over, cancel := context.WithTimeout(context.Background(), shutdownTime)
		defer cancel()
		err := s.Shutdown(over)
		serving.Wait()
		for _, ended := range []error{served, adminServed} {
			if !errors.Is(ended, http.ErrServerClosed) {
				err = errors.Join(err, ended)
			}
		}
		return err
	}
}

// shutdownTime is how long the verb serve waits at its end for unfinished answers.
const shutdownTime = 10 * time.Second

// channel answers the requests of publishers to the server. Between two requests it keeps no file
// of the data directory open.
type channel struct {
	command *Command
	cfg     *config.Config
	// command-line flags with the settings, for verbs that run in the process that has the data
	// directory open
	flags []string
	// a value starts a turn of the loop of watch early, because there is something to execute. The
	// value is the origin whose robots.txt must be read, or "".
	wake chan string
	// full while a call is answered, because two simultaneous calls would wait for each other's
	// files
	turn chan struct{}
	ctx  context.Context
	stop context.CancelFunc
}

// newChannel returns a channel that answers publishers until close is called.
func newChannel(ctx context.Context, c *Command, cfg *config.Config) *channel {
	ch := &channel{command: c, cfg: cfg, flags: []string{"--data=" + cfg.Data}, wake: make(chan string, 100),
		turn: make(chan struct{}, 1)}
	if cfg.File != "" {
		ch.flags = append(ch.flags, "--config="+cfg.File)
	}
	ch.ctx, ch.stop = context.WithCancel(context.WithoutCancel(ctx))
	return ch
}

// close interrupts the call that is being answered, and waits for its end.
func (ch *channel) close() {
	ch.stop()
	ch.turn <- struct{}{}
}

// Answer implements web.Backend. A call that changes the ledger is completed even if the client
// disconnects.
func (ch *channel) Answer(ctx context.Context, call actions.Call) (a actions.Answer, err error) {
	text, err := json.Marshal(call)
	if err != nil {
		return a, err
	}
	select {
	case ch.turn <- struct{}{}:
		defer func() { <-ch.turn }()
	case <-ctx.Done():
		return a, ctx.Err()
	case <-ch.ctx.Done():
		return a, ch.ctx.Err()
	}
	if err := errors.Join(ctx.Err(), ch.ctx.Err()); err != nil {
		return a, err
	}
	changes := call.Do == actions.DoSubmit || call.Do == actions.DoWithdraw
	if until, ends := ctx.Deadline(); changes && ends {
		var end context.CancelFunc
		ctx, end = context.WithDeadline(ch.ctx, until)
		defer end()
	}
	a, err = ch.answer(ctx, call, text)
	if changes && a.Code == "" && !a.Replayed {
		origin := "" // wake also after an error, because the request may be in the ledger nevertheless
		if a.Request != nil && a.Request.State == actions.Seen {
			origin = a.Request.Origin
		}
		ch.awaken(origin)
	}
	return a, err
}

// awaken starts a turn of the loop of watch early.
func (ch *channel) awaken(origin string) {
	select {
	case ch.wake <- origin:
	default: // the queue of wake is full, so a turn begins anyway
	}
}

// answer answers a call in this process, or in the process that has the data directory open. text
// is the call as JSON.
func (ch *channel) answer(ctx context.Context, call actions.Call, text []byte) (a actions.Answer, err error) {
	var problems strings.Builder
	other := ch.command.other(ctx, &problems, answerName)
	ledger, done, err := other.makeLedger(ch.cfg)
	if err == nil {
		a, err = other.answerCall(ctx, ch.cfg, call, ledger, done)
	}
	if _, taken := errors.AsType[*busy](err); taken {
		out, said, status := ch.command.inside(ctx, ch.cfg, text, append(strings.Fields(answerName), ch.flags...))
		if status == statusDone {
			return a, json.Unmarshal(out, &a)
		}
		err = errors.New(strings.TrimSpace(said))
	}
	if err != nil {
		return a, fmt.Errorf("the ledger could not be read: %w", err)
	}
	return a, nil
}
