//! Sign-in at an OpenID Connect issuer: the authorization code flow with PKCE.
//!
//! The issuer says who a person is; a role mapping says which tenant the person belongs to, and which role the person has.
//!
//! - [`Issuer`]: the metadata and keys of an issuer, and the exchange of a code for a person
//! - [`RoleMapping`]: tenant and role of a person, by the claims of the issuer
//! - `transport`: requests to the issuer

mod issuer;
mod mapping;
mod transport;

pub use issuer::{Issuer, IssuerSettings, SettingsError, SignInError, SignInRequest, SignedPerson};
pub use mapping::{RoleMapping, RoleMappingError};
