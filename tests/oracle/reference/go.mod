module cts-oracle-reference

go 1.21

require github.com/hashicorp/hcl v1.0.0
