package convert

import "testing"

// TestSwapCase tests that swapCase does not change escapes of ASCII characters, nor escapes of
// bytes that are no character.
func TestSwapCase(t *testing.T) {
	for s, want := range map[string]string{
		"/aB/%2Fx": "/Ab/%2FX", "/%C3%89": "/%C3%A9", "/%C3%89%24": "/%C3%A9%24",
		"/%FF%C3%89%FF%26b": "/%FF%C3%A9%FF%26B", "/%C3": "/%C3", "/100%": "/100%", "": "",
	} {
		if got := swapCase(s); got != want {
			t.Errorf("%q: %q, want %q", s, got, want)
		}
	}
}

// TestWidensCase checks which permissions cover more prohibited paths if letter case is ignored.
// One with a letter after an asterisk always does, because the letter may match anywhere in a path.
func TestWidensCase(t *testing.T) {
	for _, c := range []struct {
		allow, deny string
		want        bool
	}{
		{"/a/1", "/a/", false}, {"/a/B", "/a/", true}, {"/*ab$", "/*a", true}, {"/*ab1$", "/*ab", true}, {"/a/*1",
			"/a/", false}, {"/%C3%89", "/%C3%A9", true},
	} {
		if got := widensCase(c.allow, c.deny); got != c.want {
			t.Errorf("%s next to %s: %v", c.allow, c.deny, got)
		}
	}
}
