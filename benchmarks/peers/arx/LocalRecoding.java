import java.io.File;
import java.nio.charset.StandardCharsets;
import org.deidentifier.arx.ARXAnonymizer;
import org.deidentifier.arx.ARXConfiguration;
import org.deidentifier.arx.ARXResult;
import org.deidentifier.arx.AttributeType;
import org.deidentifier.arx.AttributeType.Hierarchy;
import org.deidentifier.arx.Data;
import org.deidentifier.arx.DataHandle;
import org.deidentifier.arx.criteria.DistinctLDiversity;
import org.deidentifier.arx.criteria.EqualDistanceTCloseness;
import org.deidentifier.arx.criteria.KAnonymity;
import org.deidentifier.arx.io.CSVHierarchyInput;
import org.deidentifier.arx.metric.Metric;

/**
 * Recodes a CSV file locally, as ARX's own interface does with "fast" local recoding in so many iterations.
 *
 * Arguments: FILE HIERARCHIES OUTPUT ITERATIONS [k=5] [l=3] [t=0.2] [sensitive=COLUMN]. HIERARCHIES holds COLUMN.csv for
 * every quasi-identifier, a value per row and a level per column; other columns are kept.
 */
public class LocalRecoding {
    public static void main(String[] words) throws Exception {
        Data data = Data.create(words[0], StandardCharsets.UTF_8, ',');
        String sensitive = null;
        for (String word : words) {
            if (word.startsWith("sensitive=")) {
                sensitive = word.substring("sensitive=".length());
            }
        }
        DataHandle input = data.getHandle();
        for (int column = 0; column < input.getNumColumns(); column++) {
            String name = input.getAttributeName(column);
            File levels = new File(words[1], name + ".csv");
            if (name.equals(sensitive)) {
                data.getDefinition().setAttributeType(name, AttributeType.SENSITIVE_ATTRIBUTE);
            } else if (levels.exists()) {
                String[][] rows = new CSVHierarchyInput(levels, StandardCharsets.UTF_8, ',').getHierarchy();
                data.getDefinition().setAttributeType(name, Hierarchy.create(rows));
            } else {
                data.getDefinition().setAttributeType(name, AttributeType.INSENSITIVE_ATTRIBUTE);
            }
        }
        int iterations = Integer.parseInt(words[3]);
        ARXConfiguration wanted = ARXConfiguration.create();
        for (String word : words) {
            if (word.startsWith("k=")) {
                wanted.addPrivacyModel(new KAnonymity(Integer.parseInt(word.substring(2))));
            } else if (word.startsWith("l=")) {
                wanted.addPrivacyModel(new DistinctLDiversity(sensitive, Integer.parseInt(word.substring(2))));
            } else if (word.startsWith("t=")) {
                wanted.addPrivacyModel(new EqualDistanceTCloseness(sensitive, Double.parseDouble(word.substring(2))));
            }
        }
        wanted.setQualityModel(Metric.createLossMetric(0d));
        wanted.setSuppressionLimit(1d - 1d / iterations);
        ARXResult result = new ARXAnonymizer().anonymize(data, wanted);
        if (!result.isResultAvailable()) {
            throw new IllegalStateException("ARX finds no node that holds the models");
        }
        DataHandle output = result.getOutput();
        result.optimizeIterativeFast(output, 1d / iterations);
        output.save(words[2], ',');
    }
}
