//! Tests of the node as a whole.

mod simulation;
