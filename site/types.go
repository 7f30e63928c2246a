package site

import (
	"github.com/acapcrawl/acapcrawl/internal/explain"
	"github.com/acapcrawl/acapcrawl/internal/holdings"
	"github.com/acapcrawl/acapcrawl/internal/memory"
	"github.com/acapcrawl/acapcrawl/internal/present"
	"github.com/acapcrawl/acapcrawl/internal/view"
)

// Types that programs need in order to call this package.
type (
	// Query selects the results of a search.
	Query = present.Query
	// Reader describes the person to whom something is shown, how it is shown, and when.
	Reader = present.Reader
	// Found is the answer to a Query, and Result one page of it.
	Found  = present.Found
	Result = present.Result
	// Resolver sends DNS queries; *net.Resolver implements it.
	Resolver = present.Resolver

	// Question selects what is explained, and for which crawler, page and reader. Explanation is the answer.
	Question    = explain.Question
	Explanation = explain.Explanation
	// Past is what earlier crawls stored about a URL.
	Past = explain.Past

	// Receipt says what was done with a page that was received.
	Receipt = holdings.Receipt
	// Exported is the result for one capture, and ExportCounts counts them.
	Exported     = holdings.Exported
	ExportCounts = holdings.ExportCounts
	// Imported is the result for one record, and ImportCounts counts them.
	Imported     = holdings.Imported
	ImportCounts = holdings.ImportCounts
	// Forgotten is what Site.Forget erases of a page.
	Forgotten = holdings.Forgotten
	// Swept is a stored item that a sweep erased or made again, and SweepCounts counts them.
	Swept       = holdings.Swept
	SweepCounts = holdings.SweepCounts
	// CompactStats is the result of Site.Compact.
	CompactStats = holdings.CompactStats

	// Totals counts everything that is stored, for the operator.
	Totals = present.Totals
	// SiteReport is what is known of one origin, and SiteDetail also its policy files, requests and skipped addresses.
	SiteReport = view.Site
	SiteDetail = view.SiteDetail

	// Budget limits the memory that pages in progress take together.
	Budget = memory.Budget
)

// NewBudget returns an unused budget for a process that may take limit bytes; 0 means no limit.
func NewBudget(limit int64) *Budget { return memory.NewBudget(limit) }
