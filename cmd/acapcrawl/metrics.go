package main

import (
	"context"
	"errors"
	"fmt"
	"net"
	"net/http"
	"runtime"
	"slices"
	"strconv"
	"sync"
	"syscall"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/collectors"
	"github.com/prometheus/client_golang/prometheus/promhttp"

	"github.com/acapcrawl/acapcrawl/acap"
	"github.com/acapcrawl/acapcrawl/actions"
	"github.com/acapcrawl/acapcrawl/crawler"
	"github.com/acapcrawl/acapcrawl/site"
)

// serveMetrics serves /metrics, and nothing else, for Prometheus until stop is called. at is the
// address on which it listens. state must return the state of the crawl, and is called
// concurrently.
func serveMetrics(ctx context.Context, address string, state func() crawler.Progress) (at string, stop func(),
	err error) {
	l, err := (&net.ListenConfig{}).Listen(ctx, "tcp", address)
	if err != nil {
		if errors.Is(err, syscall.EADDRINUSE) {
			err = errors.New("it is in use")
		}
		return "", nil, failure("another address with --metrics, as in 127.0.0.1:9091",
			fmt.Errorf("metrics cannot be answered at %s: %w", address, err))
	}
	registry := prometheus.NewRegistry()
	registry.MustRegister(crawlCollector{state}, collectors.NewGoCollector(),
		collectors.NewProcessCollector(collectors.ProcessCollectorOpts{}))
	mux := http.NewServeMux()
	mux.Handle("GET /metrics", promhttp.HandlerFor(registry, promhttp.HandlerOpts{}))
	srv := &http.Server{Handler: mux, ReadHeaderTimeout: 10 * time.Second, WriteTimeout: 30 * time.Second}
	var serving sync.WaitGroup
	serving.Go(func() {
		srv.Serve(l) // returns when the server is closed
	})
	return l.Addr().String(), func() {
		ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), time.Second)
		defer cancel()
		if srv.Shutdown(ctx) != nil {
			srv.Close()
		}
		serving.Wait()
	}, nil
}

// crawlCollector exports the state of a crawl as metrics. All counters are 0 at the start of a run.
type crawlCollector struct{ state func() crawler.Progress }

// Describe sends nothing, because the metric next_due is not always present.
func (crawlCollector) Describe(chan<- *prometheus.Desc) {}

// Collect sends the current value of every metric.
func (c crawlCollector) Collect(out chan<- prometheus.Metric) {
	p := c.state()
	s := p.SoFar
	send := func(kind prometheus.ValueType, v float64, name, help string, labels prometheus.Labels) {
		out <- prometheus.MustNewConstMetric(prometheus.NewDesc("acapcrawl_"+name, help, nil, labels), kind, v)
	}
	counter := func(n int64, name, help string) { send(prometheus.CounterValue, float64(n), name, help, nil) }
	gauge := func(v float64, name, help string) { send(prometheus.GaugeValue, v, name, help, nil) }
	counters := func(name, help, label string, by map[string]int) {
		for value, n := range by {
			send(prometheus.CounterValue, float64(n), name, help, prometheus.Labels{label: value})
		}
	}
	send(prometheus.GaugeValue, 1, "build_info", "The program that crawls; always 1.",
		prometheus.Labels{"version": site.Version, "go": runtime.Version()})
	counters("pages_total", "Addresses processed.", "outcome", map[string]int{
		string(crawler.Fetched): s.Fetched, string(crawler.Refused): s.Refused.Crawl, reasonTakenDown: s.TakenDown,
		string(crawler.Unreachable): s.Unreachable, string(crawler.Failed): s.Errors})
	counters("refusals_total", "Pages that policy refused.", "usage", map[string]int{
		string(acap.Crawl): s.Refused.Crawl, string(acap.Follow): s.Refused.Follow, string(acap.Index): s.Refused.Index,
		string(acap.Preserve): s.Refused.Preserve})
	counters("held_total", "Pages fetched and stored.", "usage", map[string]int{string(acap.Preserve): s.Stored,
		string(acap.Index): s.Indexed})
	counters("skipped_total", "Addresses found and not requested.", "reason", map[string]int{
		string(crawler.Outside): s.Skipped.Outside, string(crawler.Deep): s.Skipped.Deep, string(
			crawler.Trapped): s.Skipped.Trapped})
	counter(int64(s.Requests), "requests_total",
		"Requests for pages and the resources that they require, redirect hops included.")
	counter(s.Bytes, "body_bytes_total", "Bytes of bodies, as sent.")
	gauge(float64(p.UnderWay), "visits_under_way", "Visits under way.")
	gauge(float64(s.Queued), "queue_addresses", "Addresses to be visited, of pages and required resources.")
	gauge(float64(s.QueuedHosts), "queue_hosts", "Hosts with an address to be visited.")
	gauge(float64(s.Waiting), "waiting_addresses", "Addresses visited that will be visited again, of pages and "+
		"required resources.")
	gauge(p.Rate, "pages_per_second", "Pages a second, in the last ten seconds.")
	if !s.NextDue.IsZero() {
		gauge(float64(s.NextDue.UnixMilli())/1000, "next_due_timestamp_seconds",
			"Time when the next host is due; absent if no time is known.")
	}
}

// newServeMetrics registers the metrics of the verb serve, and returns a function that counts an
// HTTP answer. status must return the state of the ledger, and false if the ledger cannot be read.
func newServeMetrics(r *prometheus.Registry, status func() (actions.Status, bool)) func(method string, status int) {
	answers := prometheus.NewCounterVec(prometheus.CounterOpts{Name: "acapcrawl_answers_total",
		Help: "Requests answered."}, []string{"method", "status"})
	r.MustRegister(answers, ledgerCollector{status}, collectors.NewGoCollector(),
		collectors.NewProcessCollector(collectors.ProcessCollectorOpts{}))
	return func(method string, status int) {
		if !slices.Contains([]string{http.MethodGet, http.MethodHead, http.MethodPost, http.MethodDelete}, method) {
			method = "other"
		}
		answers.WithLabelValues(method, strconv.Itoa(status)).Inc()
	}
}

// ledgerCollector exports the state of the ledger as metrics.
type ledgerCollector struct{ status func() (actions.Status, bool) }

// Describe sends nothing, because metrics with unknown values are left out.
func (ledgerCollector) Describe(chan<- *prometheus.Desc) {}

// Collect sends the current value of every metric.
func (c ledgerCollector) Collect(out chan<- prometheus.Metric) {
	gauge := func(v float64, name, help string) {
		out <- prometheus.MustNewConstMetric(prometheus.NewDesc("acapcrawl_"+name, help, nil, nil),
			prometheus.GaugeValue, v)
	}
	st, ok := c.status()
	if !ok {
		gauge(0, "ledger_up", "Whether the ledger of action requests could be read.")
		return
	}
	gauge(1, "ledger_up", "Whether the ledger of action requests could be read.")
	gauge(float64(st.Open), "action_requests_open", "Action requests that are not completed.")
	gauge(float64(st.Waiting), "action_requests_waiting",
		"Action requests that are not completed and wait for a confirmation.")
	gauge(float64(st.Failed), "action_requests_failed", "Action requests that failed and are tried again.")
	if !st.TakeDown.IsZero() {
		gauge(float64(st.TakeDown.Unix()), "take_down_due_timestamp_seconds",
			"Time since which the oldest take-down that is not executed is due; absent if there is none.")
	}
	if !st.Erased.IsZero() {
		gauge(float64(st.Erased.Unix()), "erased_timestamp_seconds",
			"Time of the oldest executed take-down of which a file may still contain a trace; absent if there is none.")
	}
}
