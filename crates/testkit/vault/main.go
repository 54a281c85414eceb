// A Vault of the tests: the real server over a storage in memory, sealed and without tokens until a test initialises it
// over its API. `vault ADDRESS` serves plain HTTP there until its standard input ends, and so with the test that has
// started it.
//
// It is built from Vault's own modules, because no package registry has the executable.
package main

import (
	"fmt"
	"io"
	"net"
	"net/http"
	"os"
	"time"

	log "github.com/hashicorp/go-hclog"
	kv "github.com/hashicorp/vault-plugin-secrets-kv"
	"github.com/hashicorp/vault/helper/testhelpers/corehelpers"
	vaulthttp "github.com/hashicorp/vault/http"
	"github.com/hashicorp/vault/sdk/logical"
	"github.com/hashicorp/vault/sdk/physical/inmem"
	"github.com/hashicorp/vault/vault"
)

func main() {
	if len(os.Args) != 2 {
		fmt.Fprintln(os.Stderr, "usage: vault ADDRESS")
		os.Exit(2)
	}
	go func() {
		_, _ = io.Copy(io.Discard, os.Stdin)
		os.Exit(0)
	}()
	if err := serve(os.Args[1]); err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
}

func serve(address string) error {
	logger := log.New(&log.LoggerOptions{Level: log.Error, Output: os.Stderr})
	storage, err := inmem.NewInmem(nil, logger)
	if err != nil {
		return err
	}
	core, err := vault.NewCore(&vault.CoreConfig{
		Physical:        storage,
		Logger:          logger,
		DisableMlock:    true,
		BuiltinRegistry: corehelpers.NewMockBuiltinRegistry(),
		LogicalBackends: map[string]logical.Factory{"kv": kv.Factory},
	})
	if err != nil {
		return err
	}
	listener, err := net.Listen("tcp", address)
	if err != nil {
		return err
	}
	server := http.Server{
		Handler:           vaulthttp.Handler.Handler(&vault.HandlerProperties{Core: core}),
		ReadHeaderTimeout: 10 * time.Second,
	}
	return server.Serve(listener)
}
