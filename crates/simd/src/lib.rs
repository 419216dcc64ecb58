//! The loops that touch every byte we download.
//!
//! Each kernel is a safe function with a scalar twin in plain Rust. The scalar twin says what is
//! right; a vector kernel beside it has to give the same answer for every input and every split.

#![allow(unsafe_code, reason = "intrinsics want features and pointers; each block has its proof")]
#![deny(unsafe_op_in_unsafe_fn)]

pub mod yenc;
