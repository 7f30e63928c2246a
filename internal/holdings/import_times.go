package holdings

import (
	"time"

	"github.com/acapcrawl/acapcrawl/archive"
)

// mostTimes is the number of versions whose times an import holds in memory.
const mostTimes = 200_000

// versionTimes are the times of versions of some addresses. An import reads the times of an address once, so that the
// cost of a version does not depend on the number of other versions of the page.
type versionTimes struct {
	of   map[string]map[int64][]uint64 // address → time in nanoseconds → captures
	size int
}

// versionsAt returns the captures of an address that were fetched at a time.
func (m *importer) versionsAt(address string, at time.Time) ([]uint64, error) {
	m.mu.Lock()
	times, known := m.times.of[address]
	ids := times[at.UnixNano()]
	m.mu.Unlock()
	if known {
		return ids, nil
	}
	list, err := m.archive.Moments(address)
	if err != nil {
		return nil, err
	}
	times = map[int64][]uint64{}
	for _, one := range list {
		n := one.Fetched.UnixNano()
		times[n] = append(times[n], one.ID)
	}
	m.mu.Lock()
	defer m.mu.Unlock()
	if m.times.size += len(list) + 1; m.times.of == nil || m.times.size > mostTimes {
		m.times.of, m.times.size = map[string]map[int64][]uint64{}, len(list)+1
	}
	m.times.of[address] = times
	return times[at.UnixNano()], nil
}

// noteVersion adds a version that was stored, if the times of its address are held.
func (m *importer) noteVersion(address string, c archive.Capture) {
	m.mu.Lock()
	defer m.mu.Unlock()
	if times, known := m.times.of[address]; known {
		n := c.Fetched.UnixNano()
		times[n] = append(times[n], c.ID)
		m.times.size++
	}
}
