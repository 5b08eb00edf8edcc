//! Tests of the request tracing of `myriad-admin` with complete configurations.

mod variables;
