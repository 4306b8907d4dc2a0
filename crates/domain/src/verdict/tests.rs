//! The rows of the verdict.
