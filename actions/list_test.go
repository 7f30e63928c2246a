package actions

// List returns all requests.
func (l *Ledger) List() (all []Request, err error) {
	err = l.Each(Filter{}, func(r Request) error {
		all = append(all, r)
		return nil
	})
	return all, err
}
