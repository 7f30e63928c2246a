package site

import (
	"context"

	"github.com/acapcrawl/acapcrawl/crawler"
	"github.com/acapcrawl/acapcrawl/internal/address"
)

// mostSeedMessages is how long the journal of a partition may be to look for the outcome of a seed. In a longer one
// more than seeds was visited.
const mostSeedMessages = 1000

// endedSeeds returns the records of seeds at the end of a crawl, as the nodes that visited them have written them to
// their journals. It returns none if one was fetched, or if that cannot be found out.
func (s *Site) endedSeeds(ctx context.Context, seeds []string) (ended []crawler.Record) {
	ctx, cancel := context.WithTimeout(ctx, leaveTime)
	defer cancel()
	for _, seed := range seeds {
		rec, known, err := s.endedSeed(ctx, seed)
		if err != nil {
			s.o.Log.Debug("the outcome of a seed is not known", "seed", seed, "error", err)
		}
		if !known || rec.State == crawler.Fetched {
			return nil
		}
		ended = append(ended, rec)
	}
	return ended
}

// endedSeed returns the record of a seed. known is false if it has none, or if the journal is long.
func (s *Site) endedSeed(ctx context.Context, seed string) (rec crawler.Record, known bool, err error) {
	normal, err := address.Normal(seed)
	if err != nil {
		return rec, false, err
	}
	host, err := address.Host(normal)
	if err != nil {
		return rec, false, err
	}
	journal, short, err := s.node.Load().ShortJournal(ctx, host, mostSeedMessages)
	if err != nil || !short {
		return rec, false, err
	}
	return crawler.LastRecord(normal, journal)
}
