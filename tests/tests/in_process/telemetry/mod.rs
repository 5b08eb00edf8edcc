//! Tests of `myriad-telemetry` with complete configurations.

mod variables;
