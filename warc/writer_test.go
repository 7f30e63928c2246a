package warc

import "testing"

// A conversion has the digest of its block as the digest of its payload, and no line in the index.
func TestConversion(t *testing.T) {
	e := Entry{Type: Conversion, ID: NewID(), Date: noon, Target: "http://example.com/", Payload: []byte("<p>drawn"),
		ContentType: "text/html; charset=utf-8", More: Fields{{RefersTo, Ref("urn:uuid:1")}}}
	if line, indexed := e.Index(Place{}, "x.warc"); indexed {
		t.Error(line)
	}
	if f := e.fields(); f.Get(fieldPayloadDigest) != Digest(e.Payload) || f.Get(fieldBlockDigest) != Digest(e.Payload) {
		t.Errorf("%v", f)
	}
}
