package policy

import "container/list"

const (
	maxCells = 2048     // origins kept built
	maxBytes = 64 << 20 // bytes of text behind them
	maxViews = 8        // crawlers for which one origin is
)

// cache keeps the origins used last, built. It is guarded by its owner.
type cache struct {
	cells   map[string]*list.Element // by origin key
	order   *list.List               // of *cell, the one used last in front
	bytes   int
	dropped int // how often drop was called
}

type cell struct {
	key   string
	views map[string]view // by crawler
	bytes int
}

// view is an origin as one crawler sees it.
type view struct {
	now  *Origin // in force
	held *Origin // as read last
}

func newCache() cache { return cache{cells: map[string]*list.Element{}, order: list.New()} }

func (c *cache) view(key, id string) view {
	e := c.cells[key]
	if e == nil {
		return view{}
	}
	c.order.MoveToFront(e)
	return e.Value.(*cell).views[id]
}

// add changes a view by o, which it holds from now on; the cells used least give way.
func (c *cache) add(key, id string, o *Origin, change func(*view)) {
	e := c.cells[key]
	if e == nil {
		e = c.order.PushFront(&cell{key: key, views: map[string]view{}})
		c.cells[key] = e
	}
	at := e.Value.(*cell)
	v := at.views[id]
	change(&v)
	if _, known := at.views[id]; !known && len(at.views) >= maxViews {
		clear(at.views)
	}
	at.views[id] = v
	at.bytes += o.size
	c.bytes += o.size
	for c.order.Len() > maxCells || c.bytes > maxBytes && c.order.Len() > 1 {
		c.remove(c.order.Back())
	}
}

// drop forgets all views of an origin.
func (c *cache) drop(key string) {
	c.dropped++
	if e := c.cells[key]; e != nil {
		c.remove(e)
	}
}

func (c *cache) remove(e *list.Element) {
	at := e.Value.(*cell)
	delete(c.cells, at.key)
	c.order.Remove(e)
	c.bytes -= at.bytes
}
