package cdx

import (
	"fmt"
	"maps"
	"net/url"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/acapcrawl/acapcrawl/internal/address"
)

// Limits on the parameters of a query.
const (
	defaultPageSize = 1_000
	maxPageSize     = 10_000
	maxNumber       = 1_000_000_000
)

// Query holds the checked parameters of a request.
type Query struct {
	url     string // as given, without a wildcard
	match   string // "exact", "prefix", "host" or "domain"
	ranges  []Range
	from    string // records before this timestamp are left out; "" for none
	to      string // records after this timestamp are left out; "" for none
	filters []filter
	sort    string    // "", "reverse" or "closest"
	closest time.Time // for sort=closest
	limit   int64     // 0 for none
	fields  []string  // fields of the output; nil for all
	output  string    // "cdxj", "json", "text" or "link"

	paged    bool
	page     int64
	pageSize int64
	count    bool // write the number of pages, not records
}

// parameters are the names of all parameters. Only filter may be given several times.
var parameters = []string{"url", "matchType", "from", "to", "limit", "sort", "closest", "filter", "fields", "fl",
	"output", "page", "pageSize", "showNumPages"}

// Parse reads the parameters of a request. An empty value counts as absent. The error is an *Error.
func Parse(values url.Values) (*Query, error) {
	p := parser{values: values, query: &Query{pageSize: defaultPageSize}}
	p.known()
	p.address()
	p.times()
	p.order()
	p.outputs()
	p.pages()
	if p.err == nil {
		p.query.filters, p.err = parseFilters(values["filter"])
	}
	if p.err != nil {
		return nil, p.err
	}
	return p.query, nil
}

// Ranges returns the ranges of keys that contain all records for the query, in order and without
// overlap.
func (q *Query) Ranges() []Range { return slices.Clone(q.ranges) }

// parser reads the parameters of a request. After the first error it does nothing more.
type parser struct {
	values url.Values
	query  *Query
	err    error
}

func (p *parser) get(name string) string { return p.values.Get(name) }

// refuse records an error about a parameter, unless there is one already.
func (p *parser) refuse(name, format string, args ...any) {
	if p.err == nil {
		p.err = &Error{name, p.get(name), fmt.Sprintf(format, args...)}
	}
}

// known refuses unknown parameters, and parameters that are given twice.
func (p *parser) known() {
	for _, name := range slices.Sorted(maps.Keys(p.values)) {
		switch {
		case !slices.Contains(parameters, name):
			p.refuse(name, "there is no such parameter; the parameters are %s", strings.Join(parameters, ", "))
		case len(p.values[name]) > 1 && name != "filter":
			p.refuse(name, "it is given %d times; write it once", len(p.values[name]))
		}
	}
}

// address reads url and matchType. An asterisk is a wildcard only without matchType: at the end of
// url for a prefix, and as *. at its beginning for a domain.
func (p *parser) address() {
	address, match := p.get("url"), p.choice("matchType", "", "exact", "prefix", "host", "domain")
	if match == "" {
		if domain, found := strings.CutPrefix(address, "*."); found {
			address, match = domain, "domain"
		} else if prefix, found := strings.CutSuffix(address, "*"); found {
			address, match = prefix, "prefix"
		} else {
			match = "exact"
		}
	}
	switch {
	case strings.TrimSpace(address) == "":
		p.refuse("url", "write the address of a page, or the beginning of one and an asterisk")
		return
	case len(address) > maxAddress:
		p.refuse("url", "it is longer than %d bytes; shorten it", maxAddress)
		return
	}
	if hostAndPort.MatchString(address) {
		address = "http://" + address
	}
	list, reason := ranges(address, match)
	if reason != "" {
		p.refuse("url", "%s", reason)
	}
	p.query.url, p.query.match, p.query.ranges = strings.TrimSpace(address), match, list
}

const maxAddress = address.MaxLength

// hostAndPort matches an address without scheme that begins with a host and a port.
var hostAndPort = regexp.MustCompile(`^[^/?#:@]+:[0-9]+([/?]|$)`)

// times reads from and to. They are the beginning of a timestamp, and include all times that begin
// with them.
func (p *parser) times() {
	if s := p.timestamp("from"); s != "" {
		p.query.from = s + strings.Repeat("0", 14-len(s))
	}
	if s := p.timestamp("to"); s != "" {
		p.query.to = s + strings.Repeat("9", 14-len(s))
	}
}

// timestamp returns the beginning of a timestamp, or "".
func (p *parser) timestamp(name string) string {
	s := p.get(name)
	if s == "" {
		return ""
	}
	whole := min(len(s), 14) / 2 * 2 // the digits that are whole numbers
	valid := len(s) <= 14 && strings.Trim(s, "0123456789") == ""
	if valid && whole >= 4 {
		_, err := time.Parse("20060102150405"[:whole], s[:whole])
		valid = err == nil
	}
	if !valid {
		p.refuse(name, "it is not a time; write up to 14 digits in UTC, such as 2014 or 20140131235959")
		return ""
	}
	return s
}

// order reads sort, closest and limit.
func (p *parser) order() {
	q := p.query
	q.sort = p.choice("sort", "", "reverse", "closest")
	q.limit = p.number("limit", 1, maxNumber, 0)
	at := p.timestamp("closest")
	switch {
	case at == "" && q.sort == "closest":
		p.refuse("sort", "the parameter closest is missing; write a time, such as closest=20140131")
	case at == "":
	case q.sort == "reverse":
		p.refuse("closest", "it contradicts sort=reverse; write one of them")
	case len(at) < 4 || len(at)%2 != 0:
		p.refuse("closest", "it is not a time; write 4, 6, 8, 10, 12 or 14 digits in UTC, such as 20140131")
	case q.match != "exact":
		p.refuse("closest", "it needs the versions of one page; write matchType=exact")
	default:
		q.sort = "closest"
		var err error
		if q.closest, err = time.Parse("20060102150405", at+"00000101000000"[len(at):]); err != nil {
			p.refuse("closest", "it is not a time; write up to 14 digits in UTC, such as 20140131")
		}
	}
}

// outputs reads output, and fields or its other name fl.
func (p *parser) outputs() {
	q := p.query
	q.output = p.choice("output", "cdxj", "json", "text", "link")
	name := "fields"
	if p.get("fl") != "" {
		name = "fl"
		if p.get("fields") != "" {
			p.refuse(name, "fields and fl are names of one parameter; write one of them")
		}
	}
	list := p.get(name)
	if list == "" {
		return
	}
	if q.output == "link" {
		p.refuse(name, "output=link has no fields; write output=json, cdxj or text")
	}
	for one := range strings.SplitSeq(list, ",") {
		one, reason := field(one)
		switch {
		case reason != "":
			p.refuse(name, "%s", reason)
		case slices.Contains(q.fields, one):
			p.refuse(name, "it names the field %s twice; name it once", one)
		}
		if p.err != nil {
			return
		}
		q.fields = append(q.fields, one)
	}
}

// pages reads page, pageSize and showNumPages.
func (p *parser) pages() {
	q := p.query
	q.page = p.number("page", 0, maxNumber, 0)
	q.pageSize = p.number("pageSize", 1, maxPageSize, defaultPageSize)
	q.paged = p.get("page") != "" || p.get("pageSize") != ""
	switch p.choice("showNumPages", "", "true", "false", "1", "0") {
	case "true", "1":
		q.count = true
	}
	if q.paged && !q.count && q.sort != "" {
		p.refuse("sort", "records on pages are in the order of the index; leave out page and pageSize, and use limit")
	}
}

// choice returns the value of a parameter, which must be one of values. The default is the first
// one, which may be "".
func (p *parser) choice(name string, values ...string) string {
	value := p.get(name)
	switch {
	case value == "":
		return values[0]
	case !slices.Contains(values, value):
		if values[0] == "" {
			values = values[1:]
		}
		p.refuse(name, "there is no such value; write %s", strings.Join(values, ", "))
	}
	return value
}

// number returns the value of a parameter that is a number between least and most.
func (p *parser) number(name string, least, most, missing int64) int64 {
	value := p.get(name)
	if value == "" {
		return missing
	}
	n, err := strconv.ParseInt(value, 10, 64)
	if err != nil || n < least || n > most || value[0] == '+' {
		p.refuse(name, "write a number from %d to %d", least, most)
		return missing
	}
	return n
}
