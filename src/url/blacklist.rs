//! The parameters that never make another page. Not facets, and not `page`: dropping those merges pages that differ.
//!
//! Example: `utm_source`.

/// Names that are dropped by default, compared whatever their case: tracking, sessions, sort orders, and what
/// single-page applications put into the address.
pub const DEFAULT_BLACKLIST: [&str; 20] = [
    "utm_source",
    "utm_medium",
    "utm_campaign",
    "utm_content",
    "utm_term",
    "sid",
    "sessionid",
    "PHPSESSID",
    "jsessionid",
    "sort",
    "order",
    "ref",
    "fbclid",
    "gclid",
    "_ga",
    "modal",
    "overlay",
    "drawer",
    "tab",
    "panel",
];

/// What `drop_paging` adds.
pub(super) const PAGING: [&str; 1] = ["page"];
