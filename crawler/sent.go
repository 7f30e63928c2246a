package crawler

// maxSent is the number of links in each half of sentLinks.
const maxSent = 1 << 15

// sentLinks remembers links that were sent to other partitions, so that a link that every page of a
// site has is not sent for each page. It forgets the oldest half when the other half is full.
type sentLinks struct{ young, old map[sentKey]int } // what is sent → the smallest depth

// sentKey is what makes two links the same, apart from their depths.
type sentKey struct {
	state  State
	from   uint64
	listed bool
	url    string
}

func sentKeyOf(o *Offer) sentKey { return sentKey{o.State, o.From, o.Listed, o.URL} }

// forgettable reports whether it is the same to send o once or several times. An offer that queues
// an address again is not.
func forgettable(o *Offer) bool {
	_, _, part := partOf(o.URL)
	return !part && !o.Seed && !o.Again && !o.Promote && o.Down == ""
}

// has reports whether a link was sent at the same depth or a smaller one.
func (s *sentLinks) has(o *Offer) bool {
	key := sentKeyOf(o)
	depth, found := s.young[key]
	if !found {
		depth, found = s.old[key]
	}
	return found && depth <= o.Depth
}

func (s *sentLinks) add(offers []Offer) {
	for i := range offers {
		if o := &offers[i]; forgettable(o) {
			if len(s.young) >= maxSent || s.young == nil {
				s.young, s.old = map[sentKey]int{}, s.young
			}
			s.young[sentKeyOf(o)] = o.Depth
		}
	}
}
