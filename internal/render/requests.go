package render

import (
	"context"
	"fmt"
	"net/http"
	"strings"
	"sync"

	"github.com/chromedp/cdproto/cdp"
	"github.com/chromedp/cdproto/fetch"
	"github.com/chromedp/cdproto/network"
)

// respondAll answers the requests of the page until ctx is done; late waits for the answers.
func (t *tab) respondAll(ctx context.Context, paused <-chan *fetch.EventRequestPaused, late *sync.WaitGroup) {
	for {
		select {
		case ev := <-paused:
			late.Go(func() {
				defer t.busy.Add(-1)
				t.respond(ctx, ev)
			})
		case <-ctx.Done():
			return
		}
	}
}

// respond answers one request of the page: with the document, with a part, or with an error.
func (t *tab) respond(ctx context.Context, ev *fetch.EventRequestPaused) {
	part, first, ok := t.takeAnswer(ev)
	if !ok {
		part, ok = t.fetchPart(ctx, ev)
	}
	if ctx.Err() != nil {
		return
	}
	if !ok {
		reason := network.ErrorReasonBlockedByClient
		if ev.ResourceType == network.ResourceTypeDocument { // this error lets the browser keep the current page open
			reason = network.ErrorReasonAborted
		}
		_, _ = cdp.Call(ctx, t.target, fetch.FailRequest, fetch.FailRequestParams{RequestID: ev.RequestID,
			ErrorReason: reason})
		return
	}
	answer := fetch.FulfillRequestParams{RequestID: ev.RequestID, ResponseCode: 200, Body: part.Body,
		ResponseHeaders: t.header(&part, first)}
	if part.Status != 0 {
		answer.ResponseCode = int64(part.Status)
	}
	// a redirect, so that relative references in the part are resolved against its final URL
	if !first && part.URL != ev.Request.URL && ev.RedirectedRequestID == "" {
		t.mu.Lock()
		t.moved[ev.RequestID] = part
		t.mu.Unlock()
		answer.ResponseCode, answer.Body = 302, nil
		answer.ResponseHeaders[0] = &fetch.HeaderEntry{Name: "Location", Value: part.URL}
	}
	_, _ = cdp.Call(ctx, t.target, fetch.FulfillRequest, answer)
}

// takeAnswer returns the answer to a request if it is known: the document for the first request, or
// the target of a redirect. first is true for the document.
func (t *tab) takeAnswer(ev *fetch.EventRequestPaused) (part Part, first, ok bool) {
	t.mu.Lock()
	defer t.mu.Unlock()
	if ev.RedirectedRequestID != "" {
		part, ok = t.moved[ev.RedirectedRequestID]
		return part, false, ok
	}
	if t.given || ev.ResourceType != network.ResourceTypeDocument {
		return part, false, false
	}
	t.given = true
	return Part{Page: t.Page}, true, true
}

// isIcon reports whether a request is for the icon of the page, which the browser requests by itself.
func isIcon(ev *fetch.EventRequestPaused) bool {
	return ev.ResourceType == network.ResourceTypeOther &&
		strings.HasPrefix(fmt.Sprint(ev.Request.Headers["Accept"]), "image/")
}

// needless reports whether the header of a request says that the page does not need the part, or that the
// response has no end.
func needless(header network.Headers) bool {
	for name, value := range header {
		switch value := fmt.Sprint(value); strings.ToLower(name) {
		case "accept":
			if value == "text/event-stream" {
				return true
			}
		case "purpose", "sec-purpose":
			return true
		}
	}
	return false
}

// inPage reports whether a request is one of the page itself, not of a frame in it.
func (t *tab) inPage(ev *fetch.EventRequestPaused) bool {
	return string(ev.FrameID) == string(t.target.TargetID)
}

// leave notes that the page tries to open another document.
func (t *tab) leave(address string) {
	t.mu.Lock()
	if t.opens == "" {
		t.opens = address
	} else {
		t.unmade.Add(1)
	}
	t.mu.Unlock()
	select {
	case t.left <- struct{}{}:
	default:
	}
}

// fetchPart fetches a part within the limits of a page. Frames are not loaded.
func (t *tab) fetchPart(ctx context.Context, ev *fetch.EventRequestPaused) (part Part, ok bool) {
	switch {
	case isIcon(ev):
		return part, false
	case ev.ResourceType == network.ResourceTypeDocument && t.inPage(ev):
		t.leave(ev.Request.URL)
		return part, false
	}
	kind, ok := t.kind(ev.ResourceType)
	if !ok || needless(ev.Request.Headers) || ev.RedirectedRequestID != "" || ev.Request.Method != http.MethodGet ||
		!t.inPage(ev) || len(ev.Request.URL) > mostURL {
		t.unmade.Add(1)
		return part, false
	}
	t.mu.Lock()
	t.made++
	enough := t.made > t.requests || t.read >= t.bytes
	t.full = t.full || enough
	t.mu.Unlock()
	if enough {
		t.unmade.Add(1)
		return part, false
	}
	select {
	case t.slots <- struct{}{}:
		defer func() { <-t.slots }()
	case <-ctx.Done():
		t.unmade.Add(1)
		return part, false
	}
	part, err := t.fetch(ctx, ev.Request.URL, kind)
	if err != nil {
		return part, false
	}
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.read += len(part.Body); t.read > t.bytes {
		t.full = true
		return part, false
	}
	return part, true
}
