//! HTTP/1.1: who may send a request, which path it is for, its body and its answer.

pub(crate) mod auth;
pub(crate) mod body;
mod body_pace;
pub(crate) mod framing;
pub(crate) mod handler;
pub(crate) mod login_throttle;
mod origin_check;
pub(crate) mod route;
