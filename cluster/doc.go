// Package cluster lets several machines share a crawl. It is the only package that uses NATS.
package cluster
