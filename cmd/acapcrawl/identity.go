package main

import (
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"

	"github.com/acapcrawl/acapcrawl/acap"
	"github.com/acapcrawl/acapcrawl/config"
	"github.com/acapcrawl/acapcrawl/disk"
)

// identity is what a crawl records of itself in the data directory: the other verbs judge by it.
type identity struct {
	Crawler  []string  `json:"crawler"`
	Purposes *[]string `json:"purposes"` // null: undeclared
	Cannot   []string  `json:"cannot,omitempty"`
	Strict   bool      `json:"strict,omitempty"`
	Dialect  string    `json:"dialect,omitempty"` // of the configuration; empty: 1.1

	SubRecords bool `json:"sub_records,omitempty"` // actions.sub_records
}

func identityFile(dir string) string { return filepath.Join(dir, "crawler.json") }

func crawlerOf(cfg *config.Config) acap.Crawler {
	return acap.Crawler{Names: cfg.Crawler, Purposes: cfg.Purposes, Cannot: cfg.Cannot, Strict: cfg.Policy.Strict,
		Pilot: cfg.Policy.Dialect == config.DialectPilot, SubTakeDowns: cfg.Actions.SubRecords}
}

// record keeps who crawled, for the verbs that judge what is held.
func record(dir string, who acap.Crawler) error {
	id := identity{Crawler: who.Names, Cannot: who.Cannot, Strict: who.Strict, SubRecords: who.SubTakeDowns}
	if who.Purposes != nil {
		id.Purposes = &who.Purposes
	}
	if who.Pilot {
		id.Dialect = config.DialectPilot
	}
	data, err := json.MarshalIndent(id, "", "  ")
	if err != nil {
		return err
	}
	return disk.Replace(identityFile(dir), append(data, '\n'), 0o600)
}

// recorded is who crawled into the data directory, as far as nothing of the given kinds says otherwise: flags for the verbs that
// judge what is held; for crawl, which goes on as who it was, environment and file too.
func recorded(cfg *config.Config, kinds ...config.Kind) (acap.Crawler, error) {
	who := crawlerOf(cfg)
	data, err := os.ReadFile(identityFile(cfg.Data))
	if errors.Is(err, os.ErrNotExist) {
		return who, nil
	}
	if err != nil {
		return who, err
	}
	var id identity
	if err := json.Unmarshal(data, &id); err != nil {
		return who, failure("crawl into the directory again, which writes it anew", fmt.Errorf("%s cannot be read: %w", identityFile(cfg.Data), err))
	}
	given := func(key string) bool { return slices.Contains(append(kinds, config.Flag), cfg.Origin(key).Kind) }
	if !given("crawler") {
		who.Names = id.Crawler
	}
	if !given("purposes") {
		who.Purposes = nil
		if id.Purposes != nil {
			who.Purposes = append([]string{}, *id.Purposes...)
		}
	}
	if !given("cannot") {
		who.Cannot = id.Cannot
	}
	if !given("policy.strict") {
		who.Strict = id.Strict
	}
	if !given("policy.dialect") {
		who.Pilot = id.Dialect == config.DialectPilot
	}
	if !given("actions.sub_records") {
		who.SubTakeDowns = id.SubRecords
	}
	return who, nil
}
