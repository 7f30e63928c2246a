package page

import (
	"strings"
	"testing"
)

func TestHidden(t *testing.T) {
	for _, c := range []struct{ name, body, want string }{
		{"for tools that read aloud", "<p aria-hidden=' TRUE'>x<p aria-hidden=false>a", "a"},
		{"invisible", "<p style='visibility: hidden'>x<p style='visibility:hidden;visibility:visible'>a", "a"},
		{"a page until its script has run",
			"<body aria-hidden=true style='visibility:hidden' class=x><style>.x{display:none}</style>a", "a"},
		{"a hidden body", "<body style='display:none'>x", ""},
		{"what cannot be shown",
			"a<object data=x>x</object>b<video>x</video>c<audio>x</audio>d<canvas>x</canvas>e<iframe>x</iframe>f",
			"a b c d e f"},
		{"an object of nothing", "<object><p>a</object>", "a"},
		{"what is important",
			"<p style='display:none!important;display:block'>x<p style='display:/* */none'>x<p " +
				"style='display:block!important;display:none'>a", "a"},
		{"shown by a sheet for some screens",
			"<style>.x{display:none}</style><style media='screen and (min-width:1px)'>.x{display:block} " +
				".y{display:none}</style><p class=x>a<p class=y>b", "a b"},
		{"sheets that are none",
			"<template><style>.x{display:none}</style></template>" +
				"<style type=text/x>.x{display:none}</style>" +
				"<noscript><div><style>.x{display:none}</style></div></noscript><p class=x>a", "a"},
		{"shown by a long list", "<style>.x{display:none} " + strings.Repeat(".long-name-of-a-class,", 100) +
			".x{display:block}</style><p class=x>a", "a"},
		{"a class", "<style>.x { color: red; display : NONE !important }</style><p class='y x'>x<p class=y>a", "a"},
		{"an id", "<style>p{} #x,#y{display:none}</style><p id=x>x<p id=y>y<p id=X>a", "a"},
		{"a rule below", "<p class=x>x</p>a<style>.x{display:none}</style>", "a"},
		{"longer selectors", "<style>p.x,.x .y,.y .x,.x:hover,.x>b{display:none}</style><p class=x>a", "a"},
		{"shown when it is asked for", "<style>.x{display:none} .open .x{display:block}</style><p class=x>a", "a"},
		{"shown on a wide screen",
			"<style>.x{display:none} @media (min-width:40em){.wide\\:x{display:flex}}</style><p class='x " +
				"wide:x'>a<p class=x>x", "a"},
		{"shown on paper", "<style>.x{display:none} @media print{.x{display:block}}</style><p class=x>x</p>a", "a"},
		{"hidden on paper", "<style>@media print{.x{display:none}}</style><style " +
			"media=print>.x{display:none}</style><p class=x>a", "a"},
		{"shown by its own style", "<style>.x{display:none}</style><p class=x style='display:block'>a", "a"},
		{"hidden without scripts", "<noscript><style>.x{display:none}</style></noscript><p class=x>a", "a"},
		{"comments and strings",
			"<style>/*.y{display:none}*/.y{content:'}.y{display:none}'}.x{/**/display:/**/none}</style><p " +
				"class=x>x<p class=y>a", "a"},
		{"faults", "<style>}}.x{display:none</style><p class=x>a", "a"},
		{"on screens, by rules within others",
			"<style>@media screen{.x{display:none}} @layer a{.y{@media only screen{& {display:none}}}} " +
				".z{@layer{display:none}}</style><p class=x>x<p class=y>y<p class=z>z<p>a", "a"},
		{"sometimes, by rules within others",
			"<style>.x{color:red; @media print{display:none}} .y{@media (width<9em){& {display:none}}} " +
				".z{@supports(display:grid){display:none}} @media print{.w{@media screen{display:none}}}</style>" +
				"<p class=x>a<p class=y>b<p class=z>c<p class=w>d", "a b c d"},
		{"shown by rules within others",
			"<style>.x{display:none; @media (width>40em){display:block}} .y{display:none; .open &{display:block}} " +
				".z{display:none; .w{display:block}}</style><p class=x>a<p class=y>b<p class=z>z", "a b"},
		{"names of two rules",
			"<style>.x{&.y,.y &{display:none}} .x,.y{.z,& .w{display:none}}</style><p class='x y'>a<p class=z>b<p " +
				"class=w>c", "a b c"},
		{"lists within selectors",
			"<style>:is(.x,.y,.z) .v{display:none} :not(.x,.y,.z){display:none} " +
				"[a='x,.y,z']{display:none}</style><p class=x>a<p class=y>b", "a b"},
		{"shown by a rule within one of a long list", "<style>.x{display:none} " +
			strings.Repeat(".long-name-of-a-class,", 100) +
			".x{@media screen{display:block}}</style><style>.y{display:none}</style><p class=x>a<p class=y>b", "a b"},
		{"rules within rules", "<style>.x{.y{display:none}}</style><p class=y>a", "a"},
	} {
		if got := htmlPage(c.body).Text(Cut{}); got != c.want {
			t.Errorf("%s: %q", c.name, got)
		}
	}
	// I01: a hidden element is not found
	if _, found := htmlPage("<style>.x{display:none}</style><p id=a class=x>x").Extract("id:a", Cut{}); found {
		t.Error("a hidden element stands for the page")
	}
}
