//! What programs send to the control interfaces.

pub(super) fn form(bytes: &[u8]) {
    bergamot_rpc::fuzzing::form(bytes);
}

pub(super) fn json(bytes: &[u8]) {
    bergamot_rpc::fuzzing::json(bytes);
}

pub(super) fn xml(bytes: &[u8]) {
    bergamot_rpc::fuzzing::xml(bytes);
}
