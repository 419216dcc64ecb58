//! Usenet: message-ids, newsgroups, article numbers and the timeouts of article requests. Pure.

pub(crate) mod article_range;
pub(crate) mod group_name;
pub(crate) mod message_id;
pub(crate) mod message_id_list;
pub(crate) mod patience;
