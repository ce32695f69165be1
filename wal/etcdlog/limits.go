package etcdlog

import (
	"context"
	"errors"
	"fmt"
	"strings"

	"go.etcd.io/etcd/api/v3/v3rpc/rpctypes"
	clientv3 "go.etcd.io/etcd/client/v3"
)

// longest is the size in bytes of the value in a request that is almost as large as the largest.
const longest = largestRequest - 1<<10

// takesAll returns an error for an etcd in another process that is set to take less than a log asks of it: a member
// of it is asked for as much at once as a follower reads, and is sent a value that is as long as a batch may be.
// Nothing is written. The member answers also while none leads. That a long request does not get there in time says
// nothing about the setting.
func (l *Log) takesAll(ctx context.Context) error {
	look := clientv3.OpGet(l.clusterKey(), clientv3.WithCountOnly(), clientv3.WithSerializable())
	reads := make([]clientv3.Op, readRevisions)
	for i := range reads {
		reads[i] = look
	}
	_, err := l.txn(ctx, nil, reads, nil)
	if errors.Is(err, rpctypes.ErrTooManyOps) {
		return fmt.Errorf("etcdlog: the etcd takes fewer than %d operations in one transaction; set its --max-txn-ops to that, or higher: %w", readRevisions, err)
	}
	if err != nil {
		return fmt.Errorf("etcdlog: read %s in a transaction: %w", l.clusterKey(), err)
	}
	long := clientv3.Compare(clientv3.Value(l.clusterKey()), "=", strings.Repeat("x", longest))
	_, err = l.txn(ctx, []clientv3.Cmp{long}, []clientv3.Op{look}, nil)
	switch {
	case errors.Is(err, context.DeadlineExceeded) && ctx.Err() == nil:
		l.log.Warn("etcdlog: the etcd has not answered a long request in time: it is not known whether it takes any", "bytes", longest, "within", l.timeout)
	case err != nil:
		return fmt.Errorf("etcdlog: the etcd does not take a request of %d bytes; set its --max-request-bytes to %d, or higher: %w", longest, largestRequest, err)
	}
	return nil
}
