//! HTTP/1.1: authentication, routing, request bodies and responses.

pub(crate) mod auth;
pub(crate) mod body;
mod body_pace;
pub(crate) mod framing;
pub(crate) mod handler;
pub(crate) mod login_throttle;
mod origin_check;
pub(crate) mod route;
