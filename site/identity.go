package site

import (
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"runtime/debug"
	"slices"

	"github.com/acapcrawl/acapcrawl/acap"
	"github.com/acapcrawl/acapcrawl/config"
	"github.com/acapcrawl/acapcrawl/internal/disk"
	"github.com/acapcrawl/acapcrawl/internal/preference"
)

// identity describes the crawler that fills a data directory. A crawl stores it there, so that
// other commands decide for the same crawler.
type identity struct {
	Crawler  []string  `json:"crawler"`
	Purposes *[]string `json:"purposes"` // the declared purposes; null: none were declared
	Cannot   []string  `json:"cannot,omitempty"`
	Strict   bool      `json:"strict,omitempty"`
	Dialect  string    `json:"dialect,omitempty"` // dialect of ACAP in the configuration; empty: 1.1

	SubRecords bool `json:"sub_records,omitempty"` // value of the setting actions.sub_records

	Preferences *preferences `json:"preferences,omitempty"` // the newer vocabularies; nil: not recorded
	For         []acap.Usage `json:"for,omitempty"`         // newer usages for which pages are collected
}

// preferences describes the newer vocabularies that a crawler obeys.
type preferences struct {
	Vocabularies []string `json:"vocabularies"`
	preference.Settings
}

// identityName is the name of the file in a data directory that holds the identity of its crawler.
const identityName = "crawler.json"

func identityFile(dir string) string { return filepath.Join(dir, identityName) }

// IdentityError means that the file with the crawler's identity in a data directory cannot be read.
type IdentityError struct {
	File string
	Err  error
}

func (e *IdentityError) Error() string { return fmt.Sprintf("%s cannot be read: %v", e.File, e.Err) }
func (e *IdentityError) Unwrap() error { return e.Err }

// decider names everything that the decisions about stored pages depend on, besides policies,
// records and settings of the holdings: the crawler, and this build of the program.
func (s *Site) decider() string {
	name := s.who.Key() + ", program " + Version
	info, ok := debug.ReadBuildInfo()
	for i := 0; ok && i < len(info.Settings); i++ {
		if set := info.Settings[i]; set.Key == "vcs.revision" || set.Key == "vcs.modified" {
			name += " " + set.Value
		}
	}
	return name
}

// CrawlerOf returns the crawler that the settings describe.
func CrawlerOf(cfg *config.Config) acap.Crawler {
	p := &cfg.Preferences
	newer, err := preference.Vocabularies(p.Vocabularies, preference.Settings{UseOff: !p.ContentSignalUse,
		TDMOnly: !p.TDMRepCoversAI, OperatorKind: p.OperatorKind, OperatorCountry: p.OperatorCountry})
	if err != nil {
		panic(err) // cannot happen: package config checks the names
	}
	return acap.Crawler{Names: cfg.Crawler, Purposes: cfg.Purposes, Cannot: cfg.Cannot, Strict: cfg.Policy.Strict,
		Pilot: cfg.Policy.Dialect == config.DialectPilot, SubTakeDowns: cfg.Actions.SubRecords, Vocabularies: newer,
		For: usesOf(cfg)}
}

// usesOf returns the newer usages that the setting for names.
func usesOf(cfg *config.Config) (list []acap.Usage) {
	for _, name := range cfg.For {
		list = append(list, acap.Usage(name))
	}
	return list
}

// recordCrawler writes the identity of the given crawler to the data directory. Commands that work
// on stored pages read this identity.
func recordCrawler(dir string, who acap.Crawler) error {
	id := identity{Crawler: who.Names, Cannot: who.Cannot, Strict: who.Strict, SubRecords: who.SubTakeDowns,
		For: who.For}
	if who.Purposes != nil {
		id.Purposes = &who.Purposes
	}
	if who.Pilot {
		id.Dialect = config.DialectPilot
	}
	id.Preferences = &preferences{}
	id.Preferences.Vocabularies, id.Preferences.Settings = preference.SettingsOf(who.Vocabularies)
	data, err := json.MarshalIndent(id, "", "  ")
	if err != nil {
		return err
	}
	return disk.Replace(identityFile(dir), append(data, '\n'), 0o600)
}

// recordFirstCrawler writes the identity of the given crawler to a data directory that contains no
// identity yet.
func recordFirstCrawler(dir string, who acap.Crawler) error {
	if _, err := os.Stat(identityFile(dir)); err == nil || !errors.Is(err, os.ErrNotExist) {
		return err
	}
	return recordCrawler(dir, who)
}

// RecordedCrawler returns the crawler that filled the data directory, as recorded in the directory.
// A setting given by a flag, or by another source listed in kinds, replaces the recorded one.
// Without a record it returns the crawler of the settings. A record that cannot be read is an
// *IdentityError.
func RecordedCrawler(cfg *config.Config, kinds ...config.Kind) (acap.Crawler, error) {
	who := CrawlerOf(cfg)
	data, err := os.ReadFile(identityFile(cfg.Data))
	if errors.Is(err, os.ErrNotExist) {
		return who, nil
	}
	if err != nil {
		return who, err
	}
	var id identity
	if err := json.Unmarshal(data, &id); err != nil {
		return who, &IdentityError{identityFile(cfg.Data), err}
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
	if !given("for") {
		who.For = id.For
	}
	if p := id.Preferences; p != nil {
		names, settings := preference.SettingsOf(who.Vocabularies)
		if !given("preferences") {
			names = p.Vocabularies
		}
		if !given("content_signal_use") {
			settings.UseOff = p.UseOff
		}
		if !given("tdmrep_covers_ai") {
			settings.TDMOnly = p.TDMOnly
		}
		if !given("operator_kind") {
			settings.OperatorKind = p.OperatorKind
		}
		if !given("operator_country") {
			settings.OperatorCountry = p.OperatorCountry
		}
		if who.Vocabularies, err = preference.Vocabularies(names, settings); err != nil {
			return who, &IdentityError{identityFile(cfg.Data), err}
		}
	}
	return who, nil
}
