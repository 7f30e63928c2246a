package main

import (
	"encoding/json"
	"maps"
	"net/http"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/prometheus/client_golang/prometheus"

	"github.com/acapcrawl/acapcrawl/actions"
	"github.com/acapcrawl/acapcrawl/crawler"
)

// exportedMetrics returns what crawl and serve export if everything is known: for each metric its labels, and for each
// label its values.
func exportedMetrics(t *testing.T) map[string]map[string][]string {
	t.Helper()
	registry := prometheus.NewRegistry()
	registry.MustRegister(crawlCollector{func() crawler.Progress {
		return crawler.Progress{SoFar: crawler.Summary{NextDue: noon}}
	}})
	count := newServeMetrics(registry, func() (actions.Status, bool) {
		return actions.Status{TakeDown: noon, Erased: noon}, true
	})
	count(http.MethodGet, http.StatusInternalServerError)
	families, err := registry.Gather()
	if err != nil {
		t.Fatal(err)
	}
	metrics := map[string]map[string][]string{}
	for _, family := range families {
		labels := map[string][]string{}
		for _, m := range family.GetMetric() {
			for _, l := range m.GetLabel() {
				labels[l.GetName()] = append(labels[l.GetName()], l.GetValue())
			}
		}
		metrics[family.GetName()] = labels
	}
	return metrics
}

// expressions returns the queries in the alerts and in the dashboard.
func expressions(t *testing.T) (alerts, dashboard string) {
	t.Helper()
	alerts = regexp.MustCompile(`(?m)^ *(summary|description):.*$|^#.*$`).ReplaceAllString(
		read(t, "packaging/monitoring/alerts.yml"), "")
	var d struct {
		Panels []struct {
			Targets []struct{ Expr string }
		}
		Templating struct{ List []struct{ Query string } }
	}
	if err := json.Unmarshal([]byte(read(t, "packaging/monitoring/dashboard.json")), &d); err != nil {
		t.Fatal(err)
	}
	var all []string
	for _, p := range d.Panels {
		for _, target := range p.Targets {
			all = append(all, target.Expr)
		}
	}
	for _, v := range d.Templating.List {
		all = append(all, v.Query)
	}
	return alerts, strings.Join(all, "\n")
}

// The alerts and the dashboard use only metrics, labels and values that the program exports, and the dashboard shows
// every metric of the program.
func TestMonitoringNames(t *testing.T) {
	metrics := exportedMetrics(t)
	alerts, dashboard := expressions(t)
	for file, text := range map[string]string{"alerts.yml": alerts, "dashboard.json": dashboard} {
		uses := regexp.MustCompile(`\b((?:acapcrawl|go|process)_\w+)(?:\{([^}]*)\})?`).FindAllStringSubmatch(text, -1)
		if len(uses) < 8 {
			t.Errorf("%s uses few metrics: %q", file, uses)
		}
		for _, use := range uses {
			if labels, ok := metrics[use[1]]; !ok {
				t.Errorf("%s uses the metric %s, which nothing exports", file, use[1])
			} else if !matched(labels, use[2]) {
				t.Errorf("%s: no metric matches %s", file, use[0])
			}
		}
		for _, by := range regexp.MustCompile(`(?:by|on) \(([^)]*)\)`).FindAllStringSubmatch(text, -1) {
			for label := range strings.SplitSeq(by[1], ", ") {
				known := func(labels map[string][]string) bool { return labels[label] != nil }
				if !addedByPrometheus(label) && !slices.ContainsFunc(slices.Collect(maps.Values(metrics)), known) {
					t.Errorf("%s groups by the label %s, which no metric has", file, label)
				}
			}
		}
	}
	for name := range metrics {
		if strings.HasPrefix(name, "acapcrawl_") && !regexp.MustCompile(`\b`+name+`\b`).MatchString(dashboard) {
			t.Errorf("the dashboard does not show %s", name)
		}
	}
}

func addedByPrometheus(label string) bool { return label == "instance" || label == "job" }

// matched reports whether each word of each matcher, such as outcome=~"failed|refused", matches one of the values that
// labels has.
func matched(labels map[string][]string, matchers string) bool {
	for _, m := range regexp.MustCompile(`(\w+)(=~|=)"([^"]*)"`).FindAllStringSubmatch(matchers, -1) {
		for word := range strings.SplitSeq(m[3], "|") {
			if !addedByPrometheus(m[1]) &&
				!slices.ContainsFunc(labels[m[1]], regexp.MustCompile("^("+word+")$").MatchString) {
				return false
			}
		}
	}
	return true
}

// Prometheus accepts the alerts.
func TestAlertsAreValid(t *testing.T) {
	promtool, err := exec.LookPath("promtool")
	if err != nil {
		t.Skip("promtool, part of Prometheus, is not installed")
	}
	out, err := exec.CommandContext(t.Context(), promtool, "check", "rules",
		filepath.Join(root, "packaging/monitoring/alerts.yml")).CombinedOutput()
	if err != nil || !strings.Contains(string(out), "rules found") {
		t.Errorf("%v: %s", err, out)
	}
}
