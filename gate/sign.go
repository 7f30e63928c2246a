package gate

// Signer signs requests (RFC 9421).
type Signer struct{}
