//! Requests and replies as text: JSON-RPC and XML-RPC, read within bounds and written while they are sent.

pub(crate) mod chunked_reply;
pub(crate) mod json;
pub(crate) mod json_rpc;
pub(crate) mod long_list;
pub(crate) mod nzb_methods;
pub(crate) mod reply;
pub(crate) mod shape;
pub(crate) mod xml_reader;
pub(crate) mod xml_rpc;
pub(crate) mod xml_writer;
