import java.util.Random;

/** Uses a large heap in random order: prints the same everywhere. */
public class Heap {
    static final int BLOCK_BYTES = 4096;

    public static void main(String[] arguments) {
        int count = Integer.parseInt(arguments[0]) * ((1 << 20) / BLOCK_BYTES);
        var random = new Random(1);
        var blocks = new byte[count][];
        for (int i = 0; i < count; i++) {
            blocks[i] = new byte[BLOCK_BYTES];
        }
        for (int i = 0; i < count; i++) {
            blocks[random.nextInt(count)][random.nextInt(BLOCK_BYTES)]++;
        }
        for (int i = 0; i < count / 2; i++) {
            blocks[random.nextInt(count)] = new byte[BLOCK_BYTES];
        }
        System.gc();
        long sum = 0;
        for (int i = 0; i < count; i++) {
            for (byte value : blocks[i]) {
                sum = 31 * sum + value;
            }
        }
        System.out.println(count + " blocks: " + sum);
    }
}
