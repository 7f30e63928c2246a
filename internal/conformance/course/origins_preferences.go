package course

import (
	"fmt"
	"net/http"
	"strings"
)

// server is the licence server that the licences of the course name. No crawler needs to visit it.
const server = "https://licences.example/"

// preferenceFiles returns robots.txt of an origin with newer preferences, its tdmrep.json, and the
// licence documents that it or its pages name.
func preferenceFiles(o string) map[string]Answer {
	robots := func(lines ...string) Answer {
		lines = append([]string{"# The course: " + o, "User-agent: *"}, lines...)
		return plain(http.StatusOK, []byte(strings.Join(lines, "\n")+"\n"))
	}
	document := func(name string) Answer {
		return typed(http.StatusOK, "application/rsl+xml", read("policy/"+name))
	}
	reserved := typed(http.StatusOK, "application/json", []byte(`[{"location": "/", "tdm-reservation": 1}]`+"\n"))
	switch o {
	case "tdm":
		return map[string]Answer{robotsPath: robots("Disallow:"), tdmPath: reserved}
	case "tdmshut":
		return map[string]Answer{robotsPath: robots("Disallow: /.well-known/"), tdmPath: reserved}
	case "rsl":
		return map[string]Answer{robotsPath: robots("Disallow:", "License: {{rsl}}/policy/licence.xml"),
			policyRoot + "licence.xml": document("rsl.xml")}
	case "rslpages":
		return map[string]Answer{robotsPath: robots("Disallow:"), policyRoot + "page.xml": document("rslpages.xml")}
	case "rslnamed":
		return map[string]Answer{robotsPath: plain(http.StatusOK, read("rslnamed.txt")),
			policyRoot + "all.xml":   document("rslnamed_all.xml"),
			policyRoot + "named.xml": document("rslnamed_named.xml")}
	case "rslpaid":
		return map[string]Answer{robotsPath: robots("Disallow:"), policyRoot + "paid.xml": document("rslpages.xml")}
	case "rslall":
		return map[string]Answer{robotsPath: robots("Disallow:", "License: {{rslall}}/policy/all.xml"),
			tdmPath: reserved, policyRoot + "all.xml": document("rslall.xml")}
	case "rslloop":
		return map[string]Answer{robotsPath: robots("Disallow:", "License: {{rslloop}}/policy/loop/1"),
			policyRoot + "loop/1": to("{{rslloop}}/policy/loop/2"),
			policyRoot + "loop/2": to("{{rslloop}}/policy/loop/1")}
	}
	// rslmany
	lines, files := []string{"Disallow:"}, map[string]Answer{}
	for i := range manyDocuments {
		at := fmt.Sprintf(policyRoot+"many/%d.xml", i)
		lines = append(lines, "License: {{rslmany}}"+at)
		files[at] = document("rslmany.xml")
	}
	files[robotsPath] = robots(lines...)
	return files
}

// manyDocuments is the number of licence documents that the origin rslmany names.
const manyDocuments = 100
