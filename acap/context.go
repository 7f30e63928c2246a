package acap

// Context is what surrounds a resource that is shown (P1 2.5.5.7, 2.5.5.8).
type Context uint8

// The contexts in which a resource may be shown.
const (
	NoFrame       Context = iota // the resource is shown by itself
	UserFrame                    // the resource is shown within a frame, page or screen of the presenting service
	OriginalFrame                // the resource is shown as on its publisher's site, with everything around it
)

// Within returns d, or a refusal if the original or a copy may not be shown in the context c. Other
// forms of presentation have no context (P1 2.5.5.7, K04).
func (d Decision) Within(c Context) Decision {
	k := d.Usage.kind()
	if !d.Allowed || !wholes.has(k) {
		return d
	}
	for _, s := range d.bound() {
		for _, v := range s.limits.prohibited {
			if v == withinUser && c == UserFrame {
				return Decision{Usage: d.Usage, Reason: ByProhibition, Because: s.field,
					Note: "it may not be shown within a frame of this service"}
			}
		}
		for _, v := range s.limits.required {
			note := ""
			switch {
			case v == withinUser && c != UserFrame:
				note = "it may be shown within a frame of this service only"
			case v == withinOriginal && c != OriginalFrame:
				note = "it may be shown as within its publisher's site only"
			default:
				continue
			}
			return Decision{Usage: d.Usage, Reason: Unfulfillable, Because: s.field, Note: note}
		}
	}
	return d
}
