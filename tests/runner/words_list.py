"""The names that `words` refuses, each with better ones, and the type names that two crates may share."""

# Names of types, functions, modules and constants, with names that say what such a thing is.
REPLACEMENTS = {
    name: instead
    for names, instead in (
        ("Purse Books Payer", "`SubjectLimits`, `ShardedLimits`, `LimitSubject`"),
        ("Bank BankKind Draw Drawn", "`TokenStore`, `TokenStoreKind`, `LeaseRequest`, `LeaseGrant`"),
        ("Cell Dry Lack", "`WindowCounter`, `Exhausted`, `Shortage`"),
        ("Seat Seating SeatView", "`ReplicaSlot`, `SlotRegistry`, `SlotView`"),
        ("way_out wayout Outbound", "`egress`"),
        ("complaint Complaint", "`pod_diagnostics`"),
        ("Child Parent", "`OwnedObject`, `Owner`"),
        ("Left Seen Wanted Known Wishes Settled", "`ReconcileCache`, `ObservedInputs`, `Desired`, `Reconciled`"),
        ("Earlier Working Asked AtLeast On", "`PreviousSnapshot`, `AdmittedQuestion`, `RequestEnvelope`, `MinimumRevision`"),
        ("Reached Found Made Beside Kept", "`EndTotals`, `PartyPath`, `ComputedComposition`, `StagedChanges`, `CompositionCache`"),
        ("Standing Fact News", "`ReadyState`, `Condition`, `StatusInputs`"),
        ("Prompt Considerate Patience Finishing", "`TimeoutStream`, `DrainOnDrop`, `Timeouts`, `DetachedTasks`"),
        ("quiet dressed dead_keys tell hear", "`syn_filter`, `with_default_headers`, `revoked_keys`, `publish`, `subscribe`"),
        ("Link Away Silent dial", "`RedisClient`, `Unavailable`, `Timeout`, `connect`"),
        ("Place place", "the thing it is: `RedisUrl`, `Permit`, `ShardId`, `EndLocation`, `index`"),
        ("Way Wants Supply", "`DirectionalTrace`, `ReadRequest`, `ReadResponse`"),
        ("Holder Leg Coin", "`ScriptOwner`, `TxInput`, `TxOutput`, `TxOut`"),
        ("Portion Untrue FromNowhere", "`BatchLimit`, `InvalidData`, the field's word such as `coinbase`"),
        ("knowledge Touched Confirmed", "`coverage`, `InvalidatedAddresses`, `Freshness`"),
        ("LAST_WORDS BELIEVED while_there", "`FLUSH_TIMEOUT`, `PRIMARY_CHECK_TTL`, `with_liveness_probe`"),
        ("Judges maker story", "`linters`, `block_builder`, `scenario`"),
        ("knowing knows asked beside kept made", "a verb with its object, such as `reader_at_least`, `minimum_revision`"),
        ("lend lent", "`with_view`"),
        ("left_out OTHER_ADDRESSES", "`orphaned_blocks`, `MAX_CLUSTER_ADDRESSES`"),
    )
    for name in names.split()
}

# Type names that several crates define, each with the reason.
NAMES_IN_TWO_CRATES: dict[str, str] = {}
