//! The limiter among simulated connections: how exact, how fair, how soon.

mod accuracy;
mod bounds;
mod changes;
mod fairness;
mod leases;
mod road;
